#include "comm/fast_gpu_transport.hpp"

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/gpu_board.hpp"
#include "comm/memory_ops.hpp"
#include "comm/self_transport.hpp"
#include "comm/waiter.hpp"
#include "core/cuda_device.hpp"

#include <array>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

/// Reductions run on this thread's stream. Messages, and collectives that consist of them, run on a
/// side stream, so that they overlap with other work; waiting for them joins the streams. The host
/// does not wait, except in its waits for the GPU, which check for failures (WaitGuard).
class FastGpuTransport final : public Transport, private WaitGuard {
 public:
  FastGpuTransport(std::shared_ptr<Transport> host, Device device)
      : Transport(host->rank(), host->size()),
        host_(std::move(host)),
        device_(device),
        side_stream_(Stream::make(device)),
        self_(make_self_transport()) {}

  std::string_view name() const override { return host_->name(); }
  bool accepts(Device device) const override { return device == device_; }
  std::shared_ptr<Transport> split(int color, int key) override {
    flush();
    std::shared_ptr<Transport> part = host_->split(color, key);
    return part == nullptr ? nullptr : make_fast_gpu_transport(std::move(part), device_);
  }

  Ticket barrier(CallMode) override {
    flush();
    Stream::current(device_).synchronize();
    return host_->barrier(CallMode::blocking);
  }
  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) override;
  Ticket broadcast(BufferRef data, int root, CallMode mode) override;
  Ticket reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode mode) override;
  Ticket reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                        CallMode mode) override;
  Ticket all_gather(ConstBufferRef in, BufferRef out, const Parts& parts, CallMode mode) override;
  Ticket gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                CallMode mode) override;
  Ticket scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                 CallMode mode) override;
  Ticket all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                    CallMode mode) override;

  Ticket send(ConstBufferRef data, int to) override;
  Ticket recv(BufferRef data, int from) override;
  void flush() override;
  bool test(const Ticket& ticket) override;
  void wait(const Ticket& ticket) override;
  void abandon(const Ticket& ticket) noexcept override;
  void throw_if_failed() override { host_->throw_if_failed(); }
  void abort(const std::string&) noexcept override {
    if (board_ != nullptr) board_->abort();
  }

 private:
  enum TicketKind : std::int32_t { issued, to_self };

  GpuBoard& board() {
    if (board_ == nullptr) board_ = GpuBoard::make(*host_, device_);
    return *board_;
  }
  void check(std::chrono::duration<double> waited) override;

  void add_send(ConstBufferRef data, int to);
  void add_recv(BufferRef data, int from);
  /// Issues the collected messages of a collective, after those of earlier calls.
  Ticket issue_messages(CallMode mode);
  void issue_collected();
  /// Makes the side stream wait for what this thread has issued.
  void fork();
  /// Marks the end of a call on the side stream.
  Ticket join();
  Event& event(std::uint64_t number) { return events_[number % events_.size()]; }

  std::byte* scratch(index_t bytes);
  /// Combines the rows of the scratch memory, one per rank.
  void combine_rows(DType dtype, ReduceOp op, BufferRef out);

  std::shared_ptr<Transport> host_;
  Device device_;
  Stream side_stream_;
  std::shared_ptr<Transport> self_;  // messages to this rank itself
  std::unique_ptr<GpuBoard> board_;  // made by the first call
  std::vector<GpuBoard::Message> sends_;
  std::vector<GpuBoard::Message> recvs_;
  Event forked_;
  std::uint64_t joined_ = 0;
  std::array<Event, 64> events_;  // the ends of the latest calls on the side stream
  Buffer<std::byte> scratch_;
  std::vector<const void*> inputs_;
};

void FastGpuTransport::check(std::chrono::duration<double>) {
  if (board_ == nullptr) return;
  try {
    host_->throw_if_failed();
  } catch (...) {
    board_->abort();  // before anything waits for its kernels
    throw;
  }
  const std::string failure = board_->failure();
  if (failure.empty()) return;
  host_->abort(failure);
  throw CommError(failure);
}

// Streams

void FastGpuTransport::fork() {
  forked_.record(Stream::current(device_));
  side_stream_.wait(forked_);
}

Ticket FastGpuTransport::join() {
  event(++joined_).record(side_stream_);
  return {.kind = issued, .peer = 0, .id = joined_};
}

bool FastGpuTransport::test(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) return self_->test(ticket);
  check({});
  return ticket.id == 0 || event(ticket.id).passed();
}

void FastGpuTransport::wait(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) {
    self_->wait(ticket);
  } else if (ticket.id != 0) {
    Stream::current(device_).wait(event(ticket.id));
  }
}

void FastGpuTransport::abandon(const Ticket&) noexcept {
  // This rank will not do its share, so nobody can continue.
  if (board_ != nullptr) board_->abort();
  host_->abort("an error left a communication unfinished");
}

// Messages are collected until one is waited for: they need not be issued in an order that lets
// each of them complete before the next.

void FastGpuTransport::add_send(ConstBufferRef data, int to) {
  if (data.count == 0) return;
  sends_.push_back({const_cast<void*>(data.data), data.bytes(), to});
}

void FastGpuTransport::add_recv(BufferRef data, int from) {
  if (data.count == 0) return;
  recvs_.push_back({data.data, data.bytes(), from});
}

Ticket FastGpuTransport::send(ConstBufferRef data, int to) {
  if (to == rank()) {
    Ticket ticket = self_->send(data, 0);
    ticket.kind = to_self;
    return ticket;
  }
  add_send(data, to);
  return {.kind = issued, .peer = 0, .id = joined_ + 1};
}

Ticket FastGpuTransport::recv(BufferRef data, int from) {
  if (from == rank()) {
    Ticket ticket = self_->recv(data, 0);
    ticket.kind = to_self;
    return ticket;
  }
  add_recv(data, from);
  return {.kind = issued, .peer = 0, .id = joined_ + 1};
}

void FastGpuTransport::issue_collected() {
  GpuBoard& board = this->board();
  fork();
  try {
    board.exchange(sends_, recvs_, Stream::current(device_).handle(), side_stream_.handle());
  } catch (...) {
    sends_.clear();  // the caller may release the memory
    recvs_.clear();
    throw;
  }
  sends_.clear();
  recvs_.clear();
  join();
}

void FastGpuTransport::flush() {
  if (!sends_.empty() || !recvs_.empty()) issue_collected();
}

Ticket FastGpuTransport::issue_messages(CallMode mode) {
  issue_collected();
  const Ticket ticket = {.kind = issued, .peer = 0, .id = joined_};
  if (mode == CallMode::nonblocking) return ticket;
  Stream::current(device_).wait(event(ticket.id));
  return {};
}

// Collectives of messages

Ticket FastGpuTransport::broadcast(BufferRef data, int root, CallMode mode) {
  flush();
  if (rank() != root) {
    add_recv(data, root);
    return issue_messages(mode);
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != root) add_send(data, peer);
  }
  return issue_messages(mode);
}

Ticket FastGpuTransport::all_gather(ConstBufferRef in, BufferRef out, const Parts& parts,
                                    CallMode mode) {
  flush();
  for (int peer = 0; peer < size(); ++peer) {
    const BufferRef part = out.part(parts.offset(peer), parts.count(peer));
    if (peer == rank()) {
      copy(in, part);
    } else {
      add_send(in, peer);
      add_recv(part, peer);
    }
  }
  return issue_messages(mode);
}

Ticket FastGpuTransport::gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                                CallMode mode) {
  flush();
  if (rank() != root) {
    add_send(in, root);
    return issue_messages(mode);
  }
  for (int peer = 0; peer < size(); ++peer) {
    const BufferRef part = out.part(parts.offset(peer), parts.count(peer));
    if (peer == root) {
      copy(in, part);
    } else {
      add_recv(part, peer);
    }
  }
  return issue_messages(mode);
}

Ticket FastGpuTransport::scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                                 CallMode mode) {
  flush();
  if (rank() != root) {
    add_recv(out, root);
    return issue_messages(mode);
  }
  for (int peer = 0; peer < size(); ++peer) {
    const ConstBufferRef part = in.part(parts.offset(peer), parts.count(peer));
    if (peer == root) {
      copy(part, out);
    } else {
      add_send(part, peer);
    }
  }
  return issue_messages(mode);
}

Ticket FastGpuTransport::all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out,
                                    const Parts& received, CallMode mode) {
  flush();
  for (int peer = 0; peer < size(); ++peer) {
    const ConstBufferRef from = in.part(sent.offset(peer), sent.count(peer));
    const BufferRef to = out.part(received.offset(peer), received.count(peer));
    if (peer == rank()) {
      copy(from, to);
    } else {
      add_send(from, peer);
      add_recv(to, peer);
    }
  }
  return issue_messages(mode);
}

// Reductions. Those that no kernel computes while the data travels are gathered and then combined,
// in the order of the ranks.

std::byte* FastGpuTransport::scratch(index_t bytes) {
  if (scratch_.size() < bytes) scratch_ = Buffer<std::byte>(bytes, device_);
  return scratch_.data();
}

void FastGpuTransport::combine_rows(DType dtype, ReduceOp op, BufferRef out) {
  inputs_.clear();
  for (int peer = 0; peer < size(); ++peer) {
    inputs_.push_back(scratch_.data() + peer * out.bytes());
  }
  void* const outputs[] = {out.data};
  combine(device_, dtype, op, inputs_, outputs, out.count);
}

Ticket FastGpuTransport::allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode) {
  flush();
  if (in.count == 0) return {};
  if (GpuBoard::can_reduce(in.dtype, op)) {
    board().allreduce(in, out, Stream::current(device_).handle());
    return {};
  }
  Parts rows;
  rows.make_even(size(), in.count);
  const BufferRef all(scratch(rows.extent() * size_of(in.dtype)), rows.extent(), in.dtype, device_);
  all_gather(in, all, rows, CallMode::blocking);
  combine_rows(in.dtype, op, out);
  return {};
}

Ticket FastGpuTransport::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode) {
  Parts rows;
  rows.make_even(size(), in.count);
  const index_t count = rank() == root ? rows.extent() : 0;
  const BufferRef all(scratch(count * size_of(in.dtype)), count, in.dtype, device_);
  gather(in, all, rows, root, CallMode::blocking);
  if (rank() == root) combine_rows(in.dtype, op, out);
  return {};
}

Ticket FastGpuTransport::reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out,
                                        ReduceOp op, CallMode) {
  Parts rows;
  rows.make_even(size(), out.count);
  const BufferRef all(scratch(rows.extent() * size_of(in.dtype)), rows.extent(), in.dtype, device_);
  all_to_all(in, parts, all, rows, CallMode::blocking);
  combine_rows(in.dtype, op, out);
  return {};
}

}  // namespace

std::shared_ptr<Transport> make_fast_gpu_transport(std::shared_ptr<Transport> host, Device device) {
  return std::make_shared<FastGpuTransport>(std::move(host), device);
}

}  // namespace weft::detail
