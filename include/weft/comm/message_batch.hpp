#pragma once

#include <weft/comm/comm.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace weft {
namespace detail {
class PeerReader;
}

/// A list of messages that are exchanged together, without order or deadlock between them. It can
/// be started any number of times. Between two ranks, messages match in the order they were added.
class MessageBatch {
 public:
  explicit MessageBatch(Comm comm) : comm_(std::move(comm)) {}

  MessageBatch& send(AsyncConstBufferRef data, int to);
  MessageBatch& recv(AsyncBufferRef data, int from);
  /// From now on, send number `index` of this batch reads from `data`.
  void redirect_send(std::size_t index, const void* data);

  /// Starts all messages. Their memory must not be accessed before finish(). If it throws, the
  /// messages that were started are abandoned; see Request.
  void start();
  /// Returns when all messages of start() have arrived.
  void finish();
  /// For a destructor that runs because of an exception after start(): abandons the messages.
  void abandon() noexcept { running_.clear(); }
  void run() {
    start();
    finish();
  }

 private:
  friend struct detail::CommAccess;
  struct Send {
    ConstBufferRef data;
    int to;
  };
  struct Recv {
    BufferRef data;
    int from;
    detail::PeerReader* reader;  // null: into `data`
  };

  Comm comm_;
  std::vector<Send> sends_;
  std::vector<Recv> recvs_;
  std::vector<Request> running_;
};

}  // namespace weft
