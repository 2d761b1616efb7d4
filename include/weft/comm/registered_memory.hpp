#pragma once

// GPU memory that ranks access where it is, instead of copying through memory of the communicator.

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/comm.hpp>

#include <memory>
#include <string>

namespace weft {
namespace detail {
class MemoryRegistration;
}

/// Registers memory with a communicator, for the lifetime of the object. It matters for processes
/// on the route "fast": large allreduces with `in` and `out` within registered memory are up to
/// several times as fast. On other routes it does nothing.
///
/// - All ranks register, in the same order with other collective calls; sizes may differ.
/// - An allreduce must have registered memory on all ranks, or on none: otherwise ranks throw a
///   CommError. On each rank it may be any registered memory of the communicator.
/// - The memory must be from cudaMalloc, or from allocate(): that of a Buffer cannot be exported to
///   other processes. If one rank has such memory, is_direct() is false on all of them, and
///   allreduces are those of memory that is not registered.
/// - The memory must not be in use, and must not be freed before this object is destroyed. A later
///   call of this rank with freed memory throws, unless the call was captured in a graph; CUDA
///   leaves undefined what a call of another rank does that still accesses the memory.
///
/// The destructor is collective: it waits for the calls of this rank and then for the other ranks.
/// If it cannot, the next call on the communicator throws. If it runs because of an exception, it
/// does not wait.
class RegisteredMemory {
 public:
  /// No memory.
  RegisteredMemory() noexcept;
  /// Collective. If a rank passes memory that it cannot register, all ranks throw the same
  /// AgreedError.
  RegisteredMemory(const Comm& comm, BufferRef memory);
  /// Collective. New memory of at least one byte on comm.device(), from cudaMalloc where that is of
  /// use. Its content is undefined.
  static RegisteredMemory allocate(const Comm& comm, index_t bytes);

  RegisteredMemory(RegisteredMemory&& other) noexcept;
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  ~RegisteredMemory();

  /// Other ranks access the memory. The same on all ranks.
  bool is_direct() const;
  /// Why they do not; empty if they do.
  const std::string& obstacle() const;

  /// The memory that was passed, or, from allocate(), of type u8.
  BufferRef memory() const;
  /// As elements of another type, as many as fit.
  template <Communicable T>
  BufferRef as() const {
    const BufferRef bytes = memory();
    return {static_cast<T*>(bytes.data), bytes.bytes() / static_cast<index_t>(sizeof(T)),
            bytes.where};
  }
  /// For views: `ArrayView<float> x(layout, memory.data<float>(), layout.local_count())`.
  template <Communicable T>
  T* data() const {
    return static_cast<T*>(memory().data);
  }

 private:
  struct State;
  explicit RegisteredMemory(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft
