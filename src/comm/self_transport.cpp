#include "comm/self_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"

#include <algorithm>
#include <cstdint>
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
    const Ticket ticket = {.id = ++started_};
    sends_.push_back({ticket.id, data});
    match();
    return ticket;
  }
  Ticket recv(BufferRef data, int) override {
    const Ticket ticket = {.id = ++started_};
    recvs_.push_back({ticket.id, data});
    match();
    return ticket;
  }

  bool test(const Ticket& ticket) override {
    return !contains(sends_, ticket.id) && !contains(recvs_, ticket.id);
  }
  void wait(const Ticket& ticket) override {
    if (!test(ticket)) {
      abandon(ticket);
      throw CommError(
          "a message to this rank itself has no matching send or receive; start that one first");
    }
  }
  void abandon(const Ticket& ticket) noexcept override {
    // The caller may release its memory.
    std::erase_if(sends_, [&](const auto& each) { return each.id == ticket.id; });
    std::erase_if(recvs_, [&](const auto& each) { return each.id == ticket.id; });
  }
  void abort(const std::string&) noexcept override {}

 private:
  /// A send or a receive without a partner.
  template <class Ref>
  struct Pending {
    std::uint64_t id;
    Ref data;
  };

  template <class Ref>
  static bool contains(const std::deque<Pending<Ref>>& queue, std::uint64_t id) {
    return std::any_of(queue.begin(), queue.end(), [&](const auto& each) { return each.id == id; });
  }

  static Ticket copy(ConstBufferRef in, BufferRef out) {
    detail::copy(in, out);
    return {};
  }

  void match() {
    while (!sends_.empty() && !recvs_.empty()) {
      const ConstBufferRef from = sends_.front().data;
      const BufferRef to = recvs_.front().data;
      sends_.pop_front();
      recvs_.pop_front();
      if (from.bytes() != to.bytes()) {
        throw CommError(fmt::format("rank 0 sent {} bytes to itself, but {} were to be received",
                                    from.bytes(), to.bytes()));
      }
      copy(from, to);
    }
  }

  std::deque<Pending<ConstBufferRef>> sends_;
  std::deque<Pending<BufferRef>> recvs_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::shared_ptr<Transport> make_self_transport() { return std::make_shared<SelfTransport>(); }

}  // namespace weft::detail
