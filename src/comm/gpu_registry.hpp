#pragma once

// GPU memory that the processes of a communicator have registered, so that their kernels access it
// where it is.
//
// Each rank numbers its own memory, and keeps a copy of what the others have registered: numbers
// need no agreement, and ranks may register different amounts. Which kernel a call uses depends on
// whether its memory is registered, which each rank knows only of its own. Ranks do not compare
// that in every call, which would cost a message; the kernels detect ranks that differ, without
// cost for those that do not. See fast_allreduce.cuh.
//
// Memory can be registered by call, or is found in a captured call. Kernel arguments are fixed when
// a call is captured, but peers can map its memory only later, so the kernel gets the address of a
// record that is filled when the capture ends. Ranks then first compare what they have captured:
// if one of them has memory that cannot be exported, its kernel is another one.

#include "comm/gpu_board.hpp"
#include "comm/memory_registration.hpp"
#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

class GpuRegistry {
 public:
  /// Collective over `host`, whose ranks are processes.
  static std::shared_ptr<GpuRegistry> make(std::shared_ptr<Transport> host, Device device);

  virtual ~GpuRegistry() = default;
  GpuRegistry(const GpuRegistry&) = delete;
  GpuRegistry& operator=(const GpuRegistry&) = delete;

  /// Collective. Throws the same AgreedError on all ranks if a rank passes memory that is not of
  /// the GPU, or if there is no room in the table.
  virtual std::unique_ptr<MemoryRegistration> add(BufferRef memory) = 0;
  /// The same for new memory that can be exported.
  virtual std::unique_ptr<MemoryRegistration> allocate(index_t bytes) = 0;

  /// Where an allreduce finds its memory on all ranks; empty if not all of it is registered. Throws
  /// an ArgumentError if memory has been freed since.
  virtual RegisteredPlaces find(ConstBufferRef in, ConstBufferRef out) = 0;
  /// The same for a call that is captured on `stream`: registers memory that can be exported when
  /// Graph::capture ends.
  virtual RegisteredPlaces capture(ConstBufferRef in, ConstBufferRef out, void* stream) = 0;

 protected:
  GpuRegistry() = default;
};

}  // namespace weft::detail
