// Messages between threads: the receiver copies straight from the sender's memory.

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"
#include "comm/thread_transport.hpp"

namespace weft::detail {

Ticket ThreadTransport::send(ConstBufferRef data, int to) {
  throw_if_failed();
  Mailbox& mailbox = team_->mailbox(rank(), to);
  const bool gpu = on_gpu(data.where);
  if (gpu) mailbox.ready.record(gpu_stream(data.where));
  return {.kind = gpu ? gpu_sending : sending, .peer = to, .id = mailbox.post(data)};
}

Ticket ThreadTransport::expect(const ExpectedMessage& expected, int from) {
  throw_if_failed();
  ExpectedMessages& queue = expected_[static_cast<std::size_t>(from)];
  queue.push(expected);
  ++expecting_;
  return {.kind = receiving, .peer = from, .id = queue.begun};
}

void ThreadTransport::progress_messages() {
  for (int peer = 0; peer < size(); ++peer) {
    ExpectedMessages& queue = expected_[static_cast<std::size_t>(peer)];
    Mailbox& mailbox = team_->mailbox(peer, rank());
    while (queue.pending() && mailbox.has_message()) {
      const ExpectedMessage expected = queue.front();
      const index_t expected_bytes = expected.to.bytes();
      index_t sent = 0;
      {
        const BusyMark busy(board_.busy);
        if (job().stopped()) break;
        const ConstBufferRef from = mailbox.front();
        sent = from.bytes();
        if (sent == expected_bytes) receive(mailbox, peer, from, expected);
        mailbox.pop();
      }
      ++queue.arrived;
      --expecting_;
      if (sent != expected_bytes) {
        throw CommError(fmt::format("rank {} sent {} bytes to rank {}, which was to receive {}",
                                    job_rank(peer), sent, job_rank(), expected_bytes));
      }
    }
  }
}

void ThreadTransport::receive(Mailbox& mailbox, int peer, ConstBufferRef from,
                              const ExpectedMessage& expected) {
  const auto get = [&] {
    if (expected.reader != nullptr) {
      expected.reader->read(peer, from.data);
    } else {
      copy(from, expected.to);
    }
  };
  const Device to = expected.to.where;
  if (!on_gpu(from.where) && !on_gpu(to)) {
    get();
    return;
  }
  const Stream stream = gpu_stream(on_gpu(to) ? to : from.where);
  if (on_gpu(from.where)) stream.wait(mailbox.ready);
  get();
  mailbox.read.record(stream);
}

}  // namespace weft::detail
