#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

namespace weft {

MessageBatch& MessageBatch::send(ConstBufferRef data, int to) {
  require(to >= 0 && to < comm_.size(), "Group::send: there is no rank {} among {} ranks", to,
          comm_.size());
  sends_.push_back({data, to});
  return *this;
}

MessageBatch& MessageBatch::recv(BufferRef data, int from) {
  require(from >= 0 && from < comm_.size(), "Group::recv: there is no rank {} among {} ranks", from,
          comm_.size());
  recvs_.push_back({data, from, nullptr});
  return *this;
}

MessageBatch& MessageBatch::read(BufferRef like, int from, PeerReader& reader) {
  recv(like, from);
  recvs_.back().reader = &reader;
  return *this;
}

void MessageBatch::start() {
  require(running_.empty(), "Group::start: started again before finish()");
  running_.reserve(sends_.size() + recvs_.size());
  // Receives first: a message that finds its place waiting need not be kept aside.
  for (const Recv& each : recvs_) {
    running_.push_back(each.reader == nullptr
                           ? comm_.start_recv(each.data, each.from)
                           : comm_.start_read(each.data, each.from, *each.reader));
  }
  for (const Send& each : sends_) running_.push_back(comm_.start_send(each.data, each.to));
  comm_.flush();
}

void MessageBatch::finish() {
  for (Request& request : running_) request.wait();
  running_.clear();
}

}  // namespace weft
