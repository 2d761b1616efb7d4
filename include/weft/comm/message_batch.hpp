#pragma once

#include <weft/comm/comm.hpp>

#include <cstddef>
#include <vector>

namespace weft {

/// A list of messages that are exchanged together, without order or deadlock between them, as often
/// as it is started. Between each pair of ranks, messages match in the order they were added.
class MessageBatch {
 public:
  explicit MessageBatch(Comm comm) : comm_(std::move(comm)) {}

  MessageBatch& send(ConstBufferRef data, int to);
  MessageBatch& recv(BufferRef data, int from);
  /// Instead of receiving a message as long as `like`; see Comm::start_read.
  MessageBatch& read(BufferRef like, int from, PeerReader& reader);
  /// From now on the message that was added as number `index` of all sends is taken from `data`.
  void redirect_send(std::size_t index, const void* data) { sends_.at(index).data.data = data; }

  /// Begins all messages. The memory must not be touched before finish().
  void start();
  /// Returns when all messages of start() have arrived.
  void finish();
  void run() {
    start();
    finish();
  }

 private:
  struct Send {
    ConstBufferRef data;
    int to;
  };
  struct Recv {
    BufferRef data;
    int from;
    PeerReader* reader;  // null: into `data`
  };

  Comm comm_;
  std::vector<Send> sends_;
  std::vector<Recv> recvs_;
  std::vector<Request> running_;
};

}  // namespace weft
