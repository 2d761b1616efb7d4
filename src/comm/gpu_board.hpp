#pragma once

// Collectives and messages by kernels that reach into the memory of other ranks. Calls are issued
// to a stream and return at once; nothing in them depends on the host, so they can be captured.

#include "comm/allreduce_table.hpp"
#include "comm/epilogue.hpp"
#include "comm/transport.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::detail {

/// Where an allreduce finds its memory on all ranks: see GpuRegistry. Without a table, it has
/// access to that of ranks in the same process only.
struct RegisteredPlaces {
  const void* table = nullptr;  // of fast::RegisteredPart
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  const void* captured = nullptr;  // fast::Places that replace these
};

/// What one rank of a communicator shares with the others on the GPU.
class GpuBoard {
 public:
  /// What all ranks share.
  struct Shared {
    bool process = false;
    bool gpu = false;
  };
  /// Collective over `host`. Messages, and allreduces without copies, need ranks that are threads
  /// of one process.
  static std::unique_ptr<GpuBoard> make(Transport& host, Device device, Shared shared);

  virtual ~GpuBoard() = default;
  GpuBoard(const GpuBoard&) = delete;
  GpuBoard& operator=(const GpuBoard&) = delete;

  /// A kernel reduces these elements while they travel.
  static bool can_reduce(DType dtype, ReduceOp op);
  /// The result is the op over the ranks in order. In place or not.
  virtual void allreduce(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out,
                         const RegisteredPlaces& places, void* stream) = 0;
  /// The same, and the result is scaled.
  virtual void allreduce_scaled(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out,
                                const RegisteredPlaces& places, const Scaling& scaling,
                                void* stream) = 0;
  /// The sums are added to the residual and normalised. False, on all ranks, if rows are too long.
  virtual bool allreduce_rms_norm(ConstBufferRef in, BufferRef out, const RowNorm& norm,
                                  void* stream) = 0;

  struct Message {
    void* data = nullptr;
    index_t bytes = 0;
    int peer = 0;
  };
  /// Messages of different channels do not match. Those of one channel between two ranks match by
  /// their order.
  enum class Channel { messages, collectives };
  /// Posts messages on `caller`, after which their data is ready, and waits on `taken` until they
  /// are received.
  virtual void send(Channel channel, std::span<const Message> messages, void* caller,
                    void* taken) = 0;
  virtual void receive(Channel channel, std::span<const Message> messages, void* stream) = 0;

  /// Ends the waits of this rank's kernels; its memory will not be used again.
  virtual void abort() noexcept = 0;
  /// Why kernels of this rank have given up; empty if they have not.
  virtual std::string failure() const = 0;

 protected:
  GpuBoard() = default;
};

}  // namespace weft::detail
