#pragma once

// Direct access to the memory of other ranks of the same process, without messages in between.

#include <weft/comm/comm.hpp>
#include <weft/comm/message_batch.hpp>

namespace weft::detail {

/// Reads from the memory of another rank.
class PeerReader {
 public:
  virtual void read(int peer, const void* memory) = 0;

 protected:
  ~PeerReader() = default;
};

/// Ranks can read each other's memory on this device: the calls below work.
bool shares_memory(const Comm& comm, Device device);

/// An all_to_all without copies: calls `reader` with the memory that each rank passes as `mine`,
/// this rank's included. Others read `sent` there, and this rank reads `received` from them.
void read_peers(const Comm& comm, ConstBufferRef mine, const Parts& sent, const Parts& received,
                PeerReader& reader);

/// Receives the next message of a rank, of the size of `like`, by calling `reader` with its memory.
/// The sender may change that memory when its send is complete.
Request start_read(const Comm& comm, BufferRef like, int from, PeerReader& reader);

/// Adds a start_read to a batch of messages.
void add_read(MessageBatch& batch, BufferRef like, int from, PeerReader& reader);

}  // namespace weft::detail
