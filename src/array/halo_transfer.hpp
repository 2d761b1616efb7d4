#pragma once

#include <weft/array/halo_exchange.hpp>
#include <weft/comm/message_batch.hpp>

#include "array/halo_plan.hpp"
#include "comm/peer_reader.hpp"

#include <array>
#include <memory>
#include <vector>

namespace weft::detail {

/// Moves the cells of a halo exchange: owns the ghost cells and the buffers of messages. Passes are
/// run in the order of their axes, and their adjoints in reverse order.
template <Scalar T>
class HaloTransfer {
 public:
  explicit HaloTransfer(const HaloPlan& plan);
  HaloTransfer(const HaloTransfer&) = delete;
  HaloTransfer& operator=(const HaloTransfer&) = delete;

  /// Starts the messages of a pass over the array, which must not change before end().
  void begin(int axis, const T* array);
  /// Waits for the messages and fills the ghost cells.
  void end(int axis);
  /// Abandons the messages of a pass, after an error.
  void abandon(int axis) noexcept { memory(axis).forward.abandon(); }
  /// The adjoint of a pass: adds the ghost cells to the elements that they come from.
  void run_adjoint(int axis, T* array);

  const T* ghosts(int axis, Side side) const;
  /// For the caller to write; the zeros of the boundary are set anew in the next pass.
  T* writable_ghosts(int axis, Side side);

 private:
  /// Copies the planes of a message directly from the sender's array.
  class SlabReader final : public PeerReader {
   public:
    SlabReader(HaloTransfer& transfer, int axis, const HaloMessage& message)
        : transfer_(transfer), axis_(axis), message_(message) {}
    void read(int, const void* memory) override {
      transfer_.take_slab(axis_, message_, static_cast<const T*>(memory));
    }

   private:
    HaloTransfer& transfer_;
    int axis_;
    const HaloMessage& message_;
  };

  /// The memory of a pass; buffers are in the order of its messages.
  struct PassMemory {
    std::array<Buffer<T>, 2> ghosts;  // before, after
    std::vector<Buffer<T>> outgoing = {};
    std::vector<Buffer<T>> incoming = {};
    /// Receivers read the sender's array. The same on all ranks.
    bool is_read_directly = false;
    std::vector<std::unique_ptr<SlabReader>> readers = {};  // of incoming messages, if so
    bool zeros_are_set = false;
    MessageBatch forward;
    MessageBatch backward;
  };

  const HaloPass& pass(int axis) const { return plan_.passes[static_cast<std::size_t>(axis)]; }
  PassMemory& memory(int axis) { return memory_[static_cast<std::size_t>(axis)]; }

  PassMemory allocate(const HaloPass& pass) const;
  void connect(int axis);
  /// Packs what is not sent from the array itself.
  void pack(int axis, const T* array);
  void take_slab(int axis, const HaloMessage& message, const T* array);
  /// Packs the ghost cells of a message, to be sent back.
  void collect(int axis, const HaloMessage& message, Buffer<T>& buffer);
  void return_own(int axis, const GhostRun& run, T* array);
  void add_slab(int axis, const HaloMessage& message, Buffer<T>& buffer, T* array);

  index_t local_plane(const HaloPass& pass, const GhostRun& run) const {
    return run.source - plan_.layout.box().offset[pass.axis];
  }
  /// The planes of the message are one run of the array, and are sent from there.
  bool lies_in_one_run(const HaloPass& pass, const HaloMessage& message) const;
  T* receive_buffer(int axis, const HaloMessage& message, Buffer<T>& buffer);
  T* ghost_planes(int axis, const GhostRun& run);

  /// Calls f(shape, pointer into the array or ghosts, strides, pointer into slab, slab strides) for
  /// the pieces of the planes of a run; `slab` points to plane 0 of the slab.
  template <class Element, class F>
  void for_each_piece(int axis, const GhostRun& run, Element* array, T* slab,
                      const Shape& slab_shape, F f);

  void fill_zeros(Buffer<T>& buffer) const;
  void copy_box(const Shape& shape, const T* from, const Index& from_strides, T* to,
                const Index& to_strides) const;
  void add_box(const Shape& shape, const T* from, const Index& from_strides, T* to,
               const Index& to_strides) const;

  const HaloPlan& plan_;
  std::vector<PassMemory> memory_;  // one per axis
};

}  // namespace weft::detail
