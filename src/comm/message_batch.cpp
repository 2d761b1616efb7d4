#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include "comm/arguments.hpp"
#include "comm/comm_state.hpp"
#include "comm/peer_reader.hpp"
#include "core/on_error.hpp"

namespace weft {

// Arguments are checked before anything starts: an error with a message in progress would abort all
// ranks.

MessageBatch& MessageBatch::send(AsyncConstBufferRef data, int to) {
  detail::require_root(*detail::CommAccess::state(comm_), to, "send");
  detail::require_memory(data, "send");
  sends_.push_back({data, to});
  return *this;
}

MessageBatch& MessageBatch::recv(AsyncBufferRef data, int from) {
  detail::require_root(*detail::CommAccess::state(comm_), from, "recv");
  detail::require_memory(data, "recv");
  recvs_.push_back({data, from, nullptr});
  return *this;
}

void MessageBatch::redirect_send(std::size_t index, const void* data) {
  require(index < sends_.size(), "MessageBatch::redirect_send: no send {} among {}", index,
          sends_.size());
  sends_[index].data.data = data;
}

void MessageBatch::start() {
  require(running_.empty(), "MessageBatch::start: called again before finish()");
  running_.reserve(sends_.size() + recvs_.size());
  const detail::OnError guard([this] { abandon(); });
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
