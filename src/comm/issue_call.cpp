#include "comm/issue_call.hpp"

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

/// Replaces device memory by host copies.
std::unique_ptr<Staging> stage(CallKind kind, ConstBufferRef& in, BufferRef& out) {
  auto staging = std::make_unique<Staging>();
  const auto host_copy = [](const ConstBufferRef& memory) {
    const auto bytes = static_cast<std::size_t>(memory.bytes());
    PinnedBuffer copy(bytes);
    copy.fetch(memory.data, memory.where, bytes);
    return copy;
  };
  // In-place calls must stay in place: transports treat them differently.
  const bool in_place = in.data == out.data && in.count <= out.count;
  staging->target = out;
  // These overwrite all of their output, so it need not be fetched.
  const bool overwrites = kind == CallKind::recv || kind == CallKind::broadcast;
  staging->out = overwrites ? PinnedBuffer(static_cast<std::size_t>(out.bytes())) : host_copy(out);
  out = BufferRef(staging->out.data(), out.count, out.dtype, Device::cpu());
  if (!in_place) staging->in = host_copy(in);
  in = ConstBufferRef(in_place ? out.data : staging->in.data(), in.count, in.dtype, Device::cpu());
  return staging;
}

}  // namespace

void Traffic::add(index_t message_bytes) {
  smallest = messages == 0 ? message_bytes : std::min(smallest, message_bytes);
  largest = std::max(largest, message_bytes);
  bytes += message_bytes;
  ++messages;
}

Traffic one_message(const CommState& state, index_t bytes) {
  Traffic traffic;
  if (state.size() > 1) traffic.add(bytes);
  return traffic;
}

Traffic messages_of(const CommState& state, const Parts& parts, DType dtype) {
  Traffic traffic;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    if (rank != state.rank() && parts.count(rank) > 0) {
      traffic.add(parts.count(rank) * size_of(dtype));
    }
  }
  return traffic;
}

void record(CommState& state, CallKind kind, const Traffic& traffic) {
  CallStats& stats = state.stats[kind];
  ++stats.calls;
  if (traffic.messages == 0) return;
  stats.smallest =
      stats.messages == 0 ? traffic.smallest : std::min(stats.smallest, traffic.smallest);
  stats.largest = std::max(stats.largest, traffic.largest);
  stats.messages += traffic.messages;
  stats.bytes += traffic.bytes;
}

Transport* transport_for_device(const CommState& state, Device where, const char* call) {
  if (where.kind != DeviceKind::cuda) {
    return state.transport->accepts(where) ? state.transport.get() : nullptr;
  }
  if (state.route.name == "none") [[unlikely]] {
    refuse("Comm::{}: the memory is on {}, but WEFT_DEVICE_COMM=none allows only host memory", call,
           where);
  }
  if (state.gpu && *state.gpu != where) [[unlikely]] {
    refuse("Comm::{}: the memory is on {}, but this rank communicates from {}", call, where,
           *state.gpu);
  }
  return state.gpu_transport.get();
}

std::unique_ptr<Staging> prepare_staged(const CommState& state, Call& call, Transport*& transport) {
  std::unique_ptr<Staging> staging;
  if (transport != nullptr) {
    const ReduceOp op = call.op == ReduceOp::avg ? ReduceOp::sum : call.op;
    if (!transport->takes(call.kind, call.in.dtype, op, call.mode)) {
      transport = transport->substitute(call.kind, call.in.bytes());
    }
  }
  if (transport == nullptr) {
    transport = state.transport.get();
    staging = stage(call.kind, call.in, call.out);
  } else if (!transport->ordered_on_stream()) {
    const Device where = call.kind == CallKind::recv ? call.out.where : call.in.where;
    if (where.kind == DeviceKind::cuda) Stream::current(where).synchronize();
  }
  if (call.op == ReduceOp::avg && !transport->averages(call.kind, call.in.dtype)) {
    if (staging == nullptr) staging = std::make_unique<Staging>();
    staging->average = call.out;
    staging->ranks = transport->size();
    call.op = ReduceOp::sum;
  }
  return staging;
}

bool issue_fused(CommState& state, const Call& call, const Epilogue& epilogue) {
  throw_if_held(state);
  Transport* transport = transport_for(state, call.in.where, to_string(call.kind).data());
  if (transport == nullptr) return false;
  if (!transport->takes(call.kind, call.in.dtype, call.op, call.mode)) return false;
  flush_gpu(state, transport);
  const CallTimer timer(state, call.kind);
  if (!transport->allreduce_then(call.in, call.out, epilogue)) return false;
  record(state, call.kind, call.traffic);
  return true;
}

void reserve_pending(CommState& state) {
  if (state.idle_calls == nullptr) state.idle_calls = &state.calls.emplace_front();
}

Request start_pending(const std::shared_ptr<CommState>& state, Transport& transport, CallKind kind,
                      Ticket ticket, std::unique_ptr<Staging> staging) noexcept {
  PendingCall& call = *std::exchange(state->idle_calls, state->idle_calls->next_idle);
  call.state = state;
  call.transport = &transport;
  call.kind = kind;
  call.ticket = ticket;
  call.staging = std::move(staging);
  return CommAccess::request(call);
}

}  // namespace weft::detail
