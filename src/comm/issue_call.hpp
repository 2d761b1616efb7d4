#pragma once

// The one place where calls of Comm reach a transport. It chooses the transport, stages device
// memory that the transport does not accept, and counts.

#include "comm/comm_state.hpp"

#include <chrono>
#include <memory>

namespace weft::detail {

/// The messages of one call, for the statistics.
struct Traffic {
  index_t messages = 0;
  index_t bytes = 0;
  index_t smallest = 0;
  index_t largest = 0;

  void add(index_t message_bytes);
};

/// One message if there are other ranks.
Traffic one_message(const CommState& state, index_t bytes);
/// One message for each non-empty part of another rank.
Traffic messages_of(const CommState& state, const Parts& parts, DType dtype);

/// A call whose arguments have been checked.
struct Call {
  CallKind kind = CallKind::barrier;
  Traffic traffic = {};
  ConstBufferRef in = {};
  BufferRef out = {};
  ReduceOp op = ReduceOp::sum;
  CallMode mode = CallMode::blocking;
};

/// Adds the time until its destruction to the statistics of a kind of call, if calls are timed:
/// reading the clock twice takes longer than the rest of the bookkeeping.
class CallTimer {
 public:
  CallTimer(CommState& state, CallKind kind) {
    if (!state.timing) return;
    seconds_ = &state.stats[kind].seconds;
    start_ = std::chrono::steady_clock::now();
  }
  ~CallTimer() {
    if (seconds_ == nullptr) return;
    *seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

 private:
  double* seconds_ = nullptr;
  std::chrono::steady_clock::time_point start_;
};

/// transport_for, for memory that the host cannot access.
Transport* transport_for_device(const CommState& state, Device where, const char* call);

/// The transport that accepts memory of this device; null if the memory must be staged.
inline Transport* transport_for(const CommState& state, Device where, const char* call) {
  if (where.host_accessible()) [[likely]]
    return state.transport.get();
  return transport_for_device(state, where, call);
}

/// Issues the messages that the GPU transport has collected before a call on another transport: a
/// rank that blocks in that call would withhold them from its peers.
inline void flush_gpu(const CommState& state, const Transport* next) {
  if (state.gpu_transport != nullptr && state.gpu_transport.get() != next) {
    state.gpu_transport->flush();
  }
}

void record(CommState& state, CallKind kind, const Traffic& traffic);

/// prepare, for calls that need it.
std::unique_ptr<Staging> prepare_staged(const CommState& state, Call& call, Transport*& transport);

/// Applies staging and averaging to `call`, and chooses the host transport for staged memory.
/// Returns what remains to be done after the call, if anything.
inline std::unique_ptr<Staging> prepare(const CommState& state, Call& call, Transport*& transport) {
  // The transport of host memory takes all calls on it.
  const bool on_host = call.in.where.host_accessible() && call.out.where.host_accessible();
  if (on_host && call.op != ReduceOp::avg) [[likely]]
    return nullptr;
  return prepare_staged(state, call, transport);
}

/// Makes an allreduce and its epilogue in one step, if the transport can: see
/// Transport::allreduce_then.
bool issue_fused(CommState& state, const Call& call, const Epilogue& epilogue);

/// Makes sure that start_pending does not allocate.
void reserve_pending(CommState& state);
Request start_pending(const std::shared_ptr<CommState>& state, Transport& transport, CallKind kind,
                      Ticket ticket, std::unique_ptr<Staging> staging) noexcept;

/// Makes a call: issue(transport, call) passes it to a transport and returns the ticket.
template <class Issue>
Request issue_call(const std::shared_ptr<CommState>& state, Call call, Issue issue) {
  throw_if_held(*state);
  const Device where = call.kind == CallKind::recv ? call.out.where : call.in.where;
  Transport* transport = transport_for(*state, where, to_string(call.kind).data());
  flush_gpu(*state, transport);
  record(*state, call.kind, call.traffic);
  const CallTimer timer(*state, call.kind);
  std::unique_ptr<Staging> staging = prepare(*state, call, transport);
  if (call.mode == CallMode::blocking) {
    issue(*transport, call);
    if (staging != nullptr) staging->finish();
    return {};
  }
  reserve_pending(*state);
  const Ticket ticket = issue(*transport, call);
  return start_pending(state, *transport, call.kind, ticket, std::move(staging));
}

}  // namespace weft::detail
