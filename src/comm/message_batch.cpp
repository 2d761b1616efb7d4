#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/peer_reader.hpp"

namespace weft {

MessageBatch& MessageBatch::send(AsyncConstBufferRef data, int to) {
  require(to >= 0 && to < comm_.size(), "MessageBatch::send: no rank {} among {} ranks", to,
          comm_.size());
  sends_.push_back({data, to});
  return *this;
}

MessageBatch& MessageBatch::recv(AsyncBufferRef data, int from) {
  require(from >= 0 && from < comm_.size(), "MessageBatch::recv: no rank {} among {} ranks", from,
          comm_.size());
  recvs_.push_back({data, from, nullptr});
  return *this;
}

void MessageBatch::start() {
  require(running_.empty(), "MessageBatch::start: called again before finish()");
  running_.reserve(sends_.size() + recvs_.size());
  // Receives first, so that no message arrives before its receive is posted.
  for (const Recv& each : recvs_) {
    running_.push_back(each.reader == nullptr
                           ? comm_.start_recv(each.data, each.from)
                           : detail::start_read(comm_, each.data, each.from, *each.reader));
  }
  for (const Send& each : sends_) running_.push_back(comm_.start_send(each.data, each.to));
  flush(*detail::CommAccess::state(comm_));
}

void MessageBatch::finish() {
  for (Request& request : running_) request.wait();
  running_.clear();
}

}  // namespace weft
