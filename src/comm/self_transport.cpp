#include "comm/self_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"

#include <deque>

namespace weft::detail {
namespace {

/// A world of one rank: collectives are copies, messages go to oneself.
class SelfTransport final : public Transport {
 public:
  SelfTransport() : Transport(0, 1) {}

  std::string_view name() const override { return "self"; }
  bool accepts(Device) const override { return true; }
  std::shared_ptr<Transport> split(int color, int) override {
    return color < 0 ? nullptr : make_self_transport();
  }

  Ticket barrier(When) override { return {}; }
  Ticket broadcast(Memory, int, When) override { return {}; }
  Ticket allreduce(ConstMemory in, Memory out, ReduceOp, When) override { return copy(in, out); }
  Ticket reduce(ConstMemory in, Memory out, ReduceOp, int, When) override { return copy(in, out); }
  Ticket reduce_scatter(ConstMemory in, const Parts& parts, Memory out, ReduceOp, When) override {
    return copy(in.part(parts.offset(0), parts.count(0)), out);
  }
  Ticket all_gather(ConstMemory in, Memory out, const Parts& parts, When) override {
    return copy(in, out.part(parts.offset(0), parts.count(0)));
  }
  Ticket gather(ConstMemory in, Memory out, const Parts& parts, int, When) override {
    return copy(in, out.part(parts.offset(0), parts.count(0)));
  }
  Ticket scatter(ConstMemory in, const Parts& parts, Memory out, int, When) override {
    return copy(in.part(parts.offset(0), parts.count(0)), out);
  }
  Ticket all_to_all(ConstMemory in, const Parts& sent, Memory out, const Parts& received,
                    When) override {
    return copy(in.part(sent.offset(0), sent.count(0)),
                out.part(received.offset(0), received.count(0)));
  }

  Ticket send(ConstMemory data, int) override {
    sends_.push_back(data);
    match();
    return {.kind = 0, .peer = 0, .id = ++sent_};
  }
  Ticket recv(Memory data, int) override {
    recvs_.push_back(data);
    match();
    return {.kind = 1, .peer = 0, .id = ++received_};
  }

  bool test(const Ticket& ticket) override { return ticket.id <= matched_; }
  void wait(const Ticket& ticket) override {
    if (!test(ticket)) {
      abandon(ticket);
      throw CommError(
          "a message to oneself waits for its other half, which this rank would have to start "
          "first");
    }
  }
  void abandon(const Ticket& ticket) noexcept override {
    if (test(ticket)) return;
    // Its memory is the caller's again.
    sends_.clear();
    recvs_.clear();
  }
  void abort(const std::string&) noexcept override {}

 private:
  static Ticket copy(ConstMemory in, Memory out) {
    detail::copy(in, out);
    return {};
  }

  void match() {
    while (!sends_.empty() && !recvs_.empty()) {
      const ConstMemory from = sends_.front();
      const Memory to = recvs_.front();
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

  std::deque<ConstMemory> sends_;
  std::deque<Memory> recvs_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t matched_ = 0;
};

}  // namespace

std::shared_ptr<Transport> make_self_transport() { return std::make_shared<SelfTransport>(); }

}  // namespace weft::detail
