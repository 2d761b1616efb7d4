#include "comm/self_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"

#include <deque>

namespace weft::detail {
namespace {

/// A single rank: collectives are copies, messages go to the rank itself.
class SelfTransport final : public Transport {
 public:
  SelfTransport() : Transport(0, 1) {}

  std::string_view name() const override { return "self"; }
  bool accepts(Device) const override { return true; }
  std::shared_ptr<Transport> split(int color, int) override {
    return color < 0 ? nullptr : make_self_transport();
  }

  Ticket barrier(CallMode) override { return {}; }
  Ticket broadcast(BufferRef, int, CallMode) override { return {}; }
  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp, CallMode) override {
    return copy(in, out);
  }
  Ticket reduce(ConstBufferRef in, BufferRef out, ReduceOp, int, CallMode) override {
    return copy(in, out);
  }
  Ticket reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp,
                        CallMode) override {
    return copy(in.part(parts.offset(0), parts.count(0)), out);
  }
  Ticket all_gather(ConstBufferRef in, BufferRef out, const Parts& parts, CallMode) override {
    return copy(in, out.part(parts.offset(0), parts.count(0)));
  }
  Ticket gather(ConstBufferRef in, BufferRef out, const Parts& parts, int, CallMode) override {
    return copy(in, out.part(parts.offset(0), parts.count(0)));
  }
  Ticket scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int, CallMode) override {
    return copy(in.part(parts.offset(0), parts.count(0)), out);
  }
  Ticket all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                    CallMode) override {
    return copy(in.part(sent.offset(0), sent.count(0)),
                out.part(received.offset(0), received.count(0)));
  }

  Ticket send(ConstBufferRef data, int) override {
    sends_.push_back(data);
    match();
    return {.kind = 0, .peer = 0, .id = ++sent_};
  }
  Ticket recv(BufferRef data, int) override {
    recvs_.push_back(data);
    match();
    return {.kind = 1, .peer = 0, .id = ++received_};
  }

  bool test(const Ticket& ticket) override { return ticket.id <= matched_; }
  void wait(const Ticket& ticket) override {
    if (!test(ticket)) {
      abandon(ticket);
      throw CommError(
          "a message to this rank itself has no matching send or receive; start that one first");
    }
  }
  void abandon(const Ticket& ticket) noexcept override {
    if (test(ticket)) return;
    // The caller may release its memory.
    sends_.clear();
    recvs_.clear();
  }
  void abort(const std::string&) noexcept override {}

 private:
  static Ticket copy(ConstBufferRef in, BufferRef out) {
    detail::copy(in, out);
    return {};
  }

  void match() {
    while (!sends_.empty() && !recvs_.empty()) {
      const ConstBufferRef from = sends_.front();
      const BufferRef to = recvs_.front();
      sends_.pop_front();
      recvs_.pop_front();
      ++matched_;
      if (from.bytes() != to.bytes()) {
        throw CommError(fmt::format("rank 0 sent {} bytes to itself, but {} were to be received",
                                    from.bytes(), to.bytes()));
      }
      copy(from, to);
    }
  }

  std::deque<ConstBufferRef> sends_;
  std::deque<BufferRef> recvs_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t matched_ = 0;
};

}  // namespace

std::shared_ptr<Transport> make_self_transport() { return std::make_shared<SelfTransport>(); }

}  // namespace weft::detail
