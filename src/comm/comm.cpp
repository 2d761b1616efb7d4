#include <weft/comm/comm.hpp>
#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include "comm/arguments.hpp"
#include "comm/comm_state.hpp"
#include "comm/device_route.hpp"
#include "comm/memory_ops.hpp"
#include "comm/self_transport.hpp"
#include "core/environment.hpp"

#include <algorithm>
#include <string>

namespace weft {
namespace {

using detail::CommState;
using detail::require_count;
using detail::require_memory;
using detail::require_no_overlap;
using detail::require_op;
using detail::require_parts;
using detail::require_root;
using detail::require_same;
using detail::Traffic;
using detail::type_code;

Traffic one_message(const CommState& state, index_t bytes) {
  Traffic traffic;
  if (state.transport->size() > 1) traffic.add(bytes);
  return traffic;
}

Traffic messages_of(const CommState& state, const Parts& parts, DType dtype) {
  Traffic traffic;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    if (rank != state.transport->rank() && parts.count(rank) > 0) {
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

/// The transport that takes this memory as it is; null if it is to be staged.
Transport* carrier(const CommState& state, Device where, const char* call) {
  if (where.kind != DeviceKind::cuda) {
    return state.transport->accepts(where) ? state.transport.get() : nullptr;
  }
  if (state.route.name == "none") [[unlikely]] {
    refuse("Comm::{}: the memory is on {}, but WEFT_DEVICE_COMM=none lets only host memory travel",
           call, to_string(where));
  }
  if (state.gpu && *state.gpu != where) [[unlikely]] {
    refuse("Comm::{}: the memory is on {}, but this rank communicates from {}", call,
           to_string(where), to_string(*state.gpu));
  }
  return state.gpu_transport.get();
}

/// Begins messages that the GPU's transport holds back, before a call on another one: a rank that
/// waits there would keep its peers from them.
void flush_gpu(const CommState& state, const Transport* next) {
  if (state.gpu_transport != nullptr && state.gpu_transport.get() != next) {
    state.gpu_transport->flush();
  }
}

/// Replaces device memory by host copies of it, and remembers what is to be done in the end.
std::unique_ptr<detail::Staging> stage(CallKind kind, ConstBufferRef& in, BufferRef& out) {
  auto staging = std::make_unique<detail::Staging>();
  const auto host_copy = [](const ConstBufferRef& memory) {
    const auto bytes = static_cast<std::size_t>(memory.bytes());
    detail::PinnedBuffer copy(bytes);
    copy.fetch(memory.data, memory.where, bytes);
    return copy;
  };
  // Calls in place must stay so, or the transport would be asked for something else.
  const bool in_place = in.data == out.data && in.count <= out.count;
  staging->target = out;
  // What a receive overwrites as a whole need not be fetched.
  staging->out = kind == CallKind::recv
                     ? detail::PinnedBuffer(static_cast<std::size_t>(out.bytes()))
                     : host_copy(out);
  out = BufferRef(staging->out.data(), out.count, out.dtype, Device::cpu());
  if (!in_place) staging->in = host_copy(in);
  in = ConstBufferRef(in_place ? out.data : staging->in.data(), in.count, in.dtype, Device::cpu());
  return staging;
}

/// Makes a call that has been checked. `issue(transport, in, out, op, when)` hands it over.
template <class Issue>
Request issue_call(const std::shared_ptr<CommState>& state, CallKind kind, const Traffic& traffic,
                   ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode, Issue issue) {
  detail::throw_if_held(*state);
  const Device where = kind == CallKind::recv ? out.where : in.where;
  Transport* transport = carrier(*state, where, to_string(kind).data());
  flush_gpu(*state, transport);
  record(*state, kind, traffic);
  const detail::CallTimer timer(*state, kind);
  std::unique_ptr<detail::Staging> staging;
  if (transport == nullptr) {
    transport = state->transport.get();
    staging = stage(kind, in, out);
  } else if (where.kind == DeviceKind::cuda && !transport->ordered_on_stream()) {
    Stream::current(where).synchronize();
  }
  if (op == ReduceOp::avg) {
    if (staging == nullptr) staging = std::make_unique<detail::Staging>();
    staging->average = out;
    staging->ranks = transport->size();
    op = ReduceOp::sum;
  }
  const Ticket ticket = issue(*transport, in, out, op, mode);
  if (mode == CallMode::blocking && staging != nullptr) staging->finish();
  if (mode == CallMode::blocking) return {};
  return Request(state, *transport, kind, ticket, std::move(staging));
}

constexpr std::int64_t any = -1;

template <class E>
std::int64_t code(E value) {
  return static_cast<std::int64_t>(value);
}

void verify_if_checking(CommState& state, const detail::Fingerprint& call) {
  if (state.checking) verify(state, call);
}

/// The length of this rank's part by the parts of the root.
index_t roots_count(const CommState& state, const Parts& parts, int root) {
  Transport& transport = *state.transport;
  std::vector<index_t> counts(static_cast<std::size_t>(transport.size()));
  for (int peer = 0; peer < transport.size() && transport.rank() == root; ++peer) {
    counts[static_cast<std::size_t>(peer)] = parts.count(peer);
  }
  transport.broadcast(counts, root, CallMode::blocking);
  return counts[static_cast<std::size_t>(transport.rank())];
}

/// Checks, where the receiver alone knows what it expects, that it is what the sender has.
void agree_on_count(const Comm& comm, index_t sent, index_t expected, int from, int to,
                    const char* call) {
  comm.agree(sent == expected ? ""
                              : fmt::format("Comm::{}: rank {} has {} elements for rank {}, which "
                                            "expects {}",
                                            call, from, sent, to, expected));
}

}  // namespace

void detail::Traffic::add(index_t message_bytes) {
  smallest = messages == 0 ? message_bytes : std::min(smallest, message_bytes);
  largest = std::max(largest, message_bytes);
  bytes += message_bytes;
  ++messages;
}

Comm Comm::self() { return Comm(detail::make_self_transport()); }

Comm::Comm(std::shared_ptr<Transport> transport)
    : state_(std::make_shared<CommState>()), device_(Device::cpu()) {
  state_->transport = std::move(transport);
  state_->checking = detail::settings().check;
  detail::use_self_route_if_single(*state_);
}

Comm::Comm(std::shared_ptr<detail::CommState> state, Device device)
    : state_(std::move(state)), device_(device) {}

CommState& Comm::state() const {
  require(valid(), "this communicator is not valid: its split left this rank out");
  return *state_;
}

int Comm::rank() const { return state().transport->rank(); }
int Comm::size() const { return state().transport->size(); }
std::string_view Comm::transport() const { return state().transport->name(); }
Device Comm::device() const { return device_; }

Route Comm::route(Device device) const {
  if (device.kind == DeviceKind::cuda) return state().route;
  const std::string name(transport());
  if (state().transport->accepts(device)) return {name, "the transport takes it as it is"};
  return {"staged", "the transport takes host memory only"};
}

Comm Comm::on(Device device) const {
  require_available(device);
  if (device.kind == DeviceKind::cuda && size() > 1) {
    detail::throw_if_held(state());
    std::int32_t changes = state().gpu != device ? 1 : 0;
    state().transport->allreduce(ConstBufferRef(&changes, 1), BufferRef(&changes, 1), ReduceOp::max,
                                 CallMode::blocking);
    if (changes != 0) detail::choose_gpu_transport(state(), device);
  }
  return {state_, device};
}

bool operator==(const Comm& a, const Comm& b) {
  if (a.state_ == b.state_) return true;
  return a.valid() && b.valid() && a.transport() == "self" && b.transport() == "self";
}

Comm Comm::split(int color, int key) const {
  detail::throw_if_held(state());
  verify_if_checking(state(), {detail::split_code, any, any, any, any, any});
  flush_gpu(state(), nullptr);
  auto part = std::make_shared<CommState>();
  part->transport = state().transport->split(color, key);
  const bool alone = part->transport == nullptr || part->transport->size() == 1;
  if (state().gpu_transport == state().transport) {
    part->gpu_transport = part->transport;
  } else if (state().gpu_transport != nullptr) {
    // In the order that the host's transport has found.
    const int place = alone ? 0 : part->transport->rank();
    part->gpu_transport = state().gpu_transport->split(alone ? -1 : color, place);
  }
  if (part->transport == nullptr) return {std::shared_ptr<CommState>(), device_};
  part->held = state().held;
  part->checking = state().checking;
  part->gpu = state().gpu;
  part->route = state().route;
  detail::use_self_route_if_single(*part);
  return {std::move(part), device_};
}

Comm Comm::dup() const { return split(0, rank()); }

Request Comm::do_barrier(CallMode mode) const {
  verify_if_checking(state(), {code(CallKind::barrier), any, any, any, any, any});
  return issue_call(state_, CallKind::barrier, one_message(state(), 0), {}, {}, ReduceOp::sum, mode,
                    [&](Transport& via, ConstBufferRef, BufferRef, ReduceOp, CallMode w) {
                      return via.barrier(w);
                    });
}

Request Comm::do_broadcast(BufferRef data, int root, CallMode mode) const {
  require_root(state(), root, "broadcast");
  require_memory(data, "broadcast");
  verify_if_checking(state(),
                     {code(CallKind::broadcast), type_code(data), any, root, data.count, any});
  const Traffic traffic = rank() == root ? one_message(state(), data.bytes()) : Traffic();
  return issue_call(state_, CallKind::broadcast, traffic, data, data, ReduceOp::sum, mode,
                    [&](Transport& via, ConstBufferRef, BufferRef both, ReduceOp, CallMode w) {
                      return via.broadcast(both, root, w);
                    });
}

Request Comm::do_allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) const {
  require_same(in, out, "allreduce");
  require_count(out, in.count, "out", "allreduce");
  require_op(in.dtype, op, "allreduce");
  require_no_overlap(in, out, in.data, "allreduce");
  verify_if_checking(state(),
                     {code(CallKind::allreduce), type_code(in), code(op), any, in.count, any});
  return issue_call(state_, CallKind::allreduce, one_message(state(), in.bytes()), in, out, op,
                    mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp o, CallMode w) {
                      return via.allreduce(from, to, o, w);
                    });
}

Request Comm::do_reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root,
                        CallMode mode) const {
  require_root(state(), root, "reduce");
  require_memory(in, "reduce");
  require_op(in.dtype, op, "reduce");
  if (rank() == root) {
    require_same(in, out, "reduce");
    require_count(out, in.count, "out", "reduce");
    require_no_overlap(in, out, in.data, "reduce");
  } else {
    out = BufferRef(nullptr, 0, in.dtype, in.where);
  }
  verify_if_checking(state(),
                     {code(CallKind::reduce), type_code(in), code(op), root, in.count, any});
  return issue_call(state_, CallKind::reduce, one_message(state(), in.bytes()), in, out, op, mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp o, CallMode w) {
                      return via.reduce(from, to, o, root, w);
                    });
}

Request Comm::do_reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                                CallMode mode) const {
  require_same(in, out, "reduce_scatter");
  require_op(in.dtype, op, "reduce_scatter");
  require_parts(state(), parts, in, "in", "reduce_scatter");
  require_count(out, parts.count(rank()), "out", "reduce_scatter");
  require_no_overlap(in, out, in.part(parts.offset(rank()), 0).data, "reduce_scatter");
  verify_if_checking(state(), {code(CallKind::reduce_scatter), type_code(in), code(op), any,
                               in.count, detail::hash_of(parts)});
  return issue_call(state_, CallKind::reduce_scatter, messages_of(state(), parts, in.dtype), in,
                    out, op, mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp o, CallMode w) {
                      return via.reduce_scatter(from, parts, to, o, w);
                    });
}

Request Comm::do_all_gather(ConstBufferRef in, BufferRef out, const Parts& parts,
                            CallMode mode) const {
  require_same(in, out, "all_gather");
  require_parts(state(), parts, out, "out", "all_gather");
  require_count(in, parts.count(rank()), "in", "all_gather");
  require_no_overlap(out, in, out.part(parts.offset(rank()), 0).data, "all_gather");
  verify_if_checking(
      state(), {code(CallKind::all_gather), type_code(in), any, any, any, detail::hash_of(parts)});
  return issue_call(state_, CallKind::all_gather, one_message(state(), in.bytes()), in, out,
                    ReduceOp::sum, mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp, CallMode w) {
                      return via.all_gather(from, to, parts, w);
                    });
}

Request Comm::do_gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                        CallMode mode) const {
  require_root(state(), root, "gather");
  require_memory(in, "gather");
  if (rank() == root) {
    require_same(in, out, "gather");
    require_parts(state(), parts, out, "out", "gather");
    require_count(in, parts.count(root), "in", "gather");
    require_no_overlap(out, in, out.part(parts.offset(root), 0).data, "gather");
  } else {
    out = BufferRef(nullptr, 0, in.dtype, in.where);
  }
  if (state().checking) {
    const Transport::Step step(*state().transport, "gather");
    verify(state(), {code(CallKind::gather), type_code(in), any, root, any, any});
    const index_t planned = roots_count(state(), parts, root);
    agree_on_count(*this, in.count, planned, rank(), root, "gather");
  }
  const Traffic traffic = rank() == root ? Traffic() : one_message(state(), in.bytes());
  return issue_call(state_, CallKind::gather, traffic, in, out, ReduceOp::sum, mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp, CallMode w) {
                      return via.gather(from, to, parts, root, w);
                    });
}

Request Comm::do_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                         CallMode mode) const {
  require_root(state(), root, "scatter");
  require_memory(out, "scatter");
  Traffic traffic;
  if (rank() == root) {
    require_same(in, out, "scatter");
    require_parts(state(), parts, in, "in", "scatter");
    require_count(out, parts.count(root), "out", "scatter");
    require_no_overlap(in, out, in.part(parts.offset(root), 0).data, "scatter");
    traffic = messages_of(state(), parts, in.dtype);
  } else {
    in = ConstBufferRef(nullptr, 0, out.dtype, out.where);
  }
  if (state().checking) {
    const Transport::Step step(*state().transport, "scatter");
    verify(state(), {code(CallKind::scatter), type_code(out), any, root, any, any});
    const index_t planned = roots_count(state(), parts, root);
    agree_on_count(*this, planned, out.count, root, rank(), "scatter");
  }
  return issue_call(state_, CallKind::scatter, traffic, in, out, ReduceOp::sum, mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp, CallMode w) {
                      return via.scatter(from, parts, to, root, w);
                    });
}

/// Compares what ranks send to each other with what they expect.
void Comm::verify_all_to_all(ConstBufferRef in, const Parts& sent, const Parts& received) const {
  if (!state().checking) return;
  const Transport::Step step(*state().transport, "all_to_all");
  verify(state(), {code(CallKind::all_to_all), type_code(in), any, any, any, any});
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<index_t> mine(ranks);
  std::vector<index_t> theirs(ranks);
  for (int peer = 0; peer < size(); ++peer) mine[static_cast<std::size_t>(peer)] = sent.count(peer);
  Parts one_each;
  one_each.make_even(size(), 1);
  state().transport->all_to_all(mine, one_each, theirs, one_each, CallMode::blocking);
  int wrong = 0;
  while (wrong < size() - 1 && theirs[static_cast<std::size_t>(wrong)] == received.count(wrong)) {
    ++wrong;
  }
  agree_on_count(*this, theirs[static_cast<std::size_t>(wrong)], received.count(wrong), wrong,
                 rank(), "all_to_all");
}

Request Comm::do_all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out,
                            const Parts& received, CallMode mode) const {
  require_same(in, out, "all_to_all");
  require_parts(state(), sent, in, "in", "all_to_all");
  require_parts(state(), received, out, "out", "all_to_all");
  require_no_overlap(in, out, nullptr, "all_to_all");
  verify_all_to_all(in, sent, received);
  return issue_call(state_, CallKind::all_to_all, messages_of(state(), sent, in.dtype), in, out,
                    ReduceOp::sum, mode,
                    [&](Transport& via, ConstBufferRef from, BufferRef to, ReduceOp, CallMode w) {
                      return via.all_to_all(from, sent, to, received, w);
                    });
}

bool Comm::shares_memory(Device device) const {
  const Transport* transport = carrier(state(), device, "shares_memory");
  return transport != nullptr && transport->shares_memory();
}

void Comm::read_peers(ConstBufferRef mine, const Parts& sent, const Parts& received,
                      PeerReader& reader) const {
  detail::throw_if_held(state());
  require_memory(mine, "read_peers");
  require(shares_memory(mine.where),
          "Comm::read_peers: ranks cannot read each other's memory here");
  require(sent.ranks() == size() && received.ranks() == size(),
          "Comm::read_peers: {} parts to be read and {} to read, for {} ranks", sent.ranks(),
          received.ranks(), size());
  verify_all_to_all(mine, sent, received);
  Transport* transport = carrier(state(), mine.where, "read_peers");
  flush_gpu(state(), transport);
  record(state(), CallKind::all_to_all, messages_of(state(), sent, mine.dtype));
  const detail::CallTimer timer(state(), CallKind::all_to_all);
  transport->read_peers(mine, reader);
}

Request Comm::start_send(ConstBufferRef data, int to) const {
  require_root(state(), to, "send");
  require_memory(data, "send");
  Traffic traffic;
  traffic.add(data.bytes());
  return issue_call(state_, CallKind::send, traffic, data, {}, ReduceOp::sum, CallMode::nonblocking,
                    [&](Transport& via, ConstBufferRef from, BufferRef, ReduceOp, CallMode) {
                      return via.send(from, to);
                    });
}

Request Comm::start_recv(BufferRef data, int from) const {
  require_root(state(), from, "recv");
  require_memory(data, "recv");
  return issue_call(state_, CallKind::recv, {}, {}, data, ReduceOp::sum, CallMode::nonblocking,
                    [&](Transport& via, ConstBufferRef, BufferRef to, ReduceOp, CallMode) {
                      return via.recv(to, from);
                    });
}

Request Comm::start_read(BufferRef like, int from, PeerReader& reader) const {
  require_root(state(), from, "read");
  require_memory(like, "read");
  require(shares_memory(like.where),
          "Comm::start_read: ranks cannot read each other's memory here");
  return issue_call(state_, CallKind::recv, {}, {}, like, ReduceOp::sum, CallMode::nonblocking,
                    [&](Transport& via, ConstBufferRef, BufferRef room, ReduceOp, CallMode) {
                      return via.read(room, from, reader);
                    });
}

void Comm::flush() const {
  state().transport->flush();
  if (state().gpu_transport != nullptr) state().gpu_transport->flush();
}

void Comm::barrier() const { do_barrier(CallMode::blocking).wait(); }
void Comm::broadcast(BufferRef data, int root) const {
  do_broadcast(data, root, CallMode::blocking).wait();
}
void Comm::allreduce(ConstBufferRef in, BufferRef out, ReduceOp op) const {
  do_allreduce(in, out, op, CallMode::blocking).wait();
}
void Comm::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root) const {
  do_reduce(in, out, op, root, CallMode::blocking).wait();
}
void Comm::reduce_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out,
                            ReduceOp op) const {
  do_reduce_scatter(in, parts, out, op, CallMode::blocking).wait();
}
void Comm::all_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts) const {
  do_all_gather(in, out, parts, CallMode::blocking).wait();
}
void Comm::gather_v(ConstBufferRef in, BufferRef out, const Parts& parts, int root) const {
  do_gather(in, out, parts, root, CallMode::blocking).wait();
}
void Comm::scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out, int root) const {
  do_scatter(in, parts, out, root, CallMode::blocking).wait();
}
void Comm::all_to_all_v(ConstBufferRef in, const Parts& sent, BufferRef out,
                        const Parts& received) const {
  do_all_to_all(in, sent, out, received, CallMode::blocking).wait();
}
void Comm::send(ConstBufferRef data, int to) const { start_send(data, to).wait(); }
void Comm::recv(BufferRef data, int from) const { start_recv(data, from).wait(); }
void Comm::sendrecv(ConstBufferRef out, int to, BufferRef in, int from) const {
  // Before anything is begun: an error with a message under way would be one of all ranks.
  require_root(state(), to, "sendrecv");
  require_memory(out, "sendrecv");
  Request receiving = start_recv(in, from);
  Request sending = start_send(out, to);
  sending.wait();
  receiving.wait();
}

// Even collectives are uneven ones whose parts are all alike.

void Comm::reduce_scatter(ConstBufferRef in, BufferRef out, ReduceOp op) const {
  state().even_in.make_even(size(), out.count);
  require_count(in, state().even_in.extent(), "in", "reduce_scatter");
  reduce_scatter_v(in, state().even_in, out, op);
}
void Comm::all_gather(ConstBufferRef in, BufferRef out) const {
  state().even_out.make_even(size(), in.count);
  require_count(out, state().even_out.extent(), "out", "all_gather");
  all_gather_v(in, out, state().even_out);
}
void Comm::gather(ConstBufferRef in, BufferRef out, int root) const {
  require_root(state(), root, "gather");
  state().even_out.make_even(size(), in.count);
  if (rank() == root) require_count(out, state().even_out.extent(), "out", "gather");
  gather_v(in, out, state().even_out, root);
}
void Comm::scatter(ConstBufferRef in, BufferRef out, int root) const {
  require_root(state(), root, "scatter");
  state().even_in.make_even(size(), out.count);
  if (rank() == root) require_count(in, state().even_in.extent(), "in", "scatter");
  scatter_v(in, state().even_in, out, root);
}
void Comm::all_to_all(ConstBufferRef in, BufferRef out) const {
  require(in.count % size() == 0, "Comm::all_to_all: {} elements cannot be divided among {} ranks",
          in.count, size());
  require_count(out, in.count, "out", "all_to_all");
  state().even_in.make_even(size(), in.count / size());
  all_to_all_v(in, state().even_in, out, state().even_in);
}

Request Comm::start_barrier() const { return do_barrier(CallMode::nonblocking); }
Request Comm::start_broadcast(BufferRef data, int root) const {
  return do_broadcast(data, root, CallMode::nonblocking);
}
Request Comm::start_allreduce(ConstBufferRef in, BufferRef out, ReduceOp op) const {
  return do_allreduce(in, out, op, CallMode::nonblocking);
}
Request Comm::start_reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root) const {
  return do_reduce(in, out, op, root, CallMode::nonblocking);
}
Request Comm::start_reduce_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out,
                                     ReduceOp op) const {
  return do_reduce_scatter(in, parts, out, op, CallMode::nonblocking);
}
Request Comm::start_all_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts) const {
  return do_all_gather(in, out, parts, CallMode::nonblocking);
}
Request Comm::start_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts, int root) const {
  return do_gather(in, out, parts, root, CallMode::nonblocking);
}
Request Comm::start_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out,
                              int root) const {
  return do_scatter(in, parts, out, root, CallMode::nonblocking);
}
Request Comm::start_all_to_all_v(ConstBufferRef in, const Parts& sent, BufferRef out,
                                 const Parts& received) const {
  return do_all_to_all(in, sent, out, received, CallMode::nonblocking);
}

void Comm::abort(const std::string& reason) const noexcept {
  if (!valid()) return;
  if (state_->gpu_transport != nullptr) state_->gpu_transport->abort(reason);
  state_->transport->abort(reason);
}

void Comm::throw_held_error() const { state().held->throw_if_unheard(*state().transport); }

const Stats& Comm::stats() const { return state().stats; }
void Comm::reset_stats() const { state().stats = {}; }
bool Comm::checks_calls() const { return state().checking; }
void Comm::check_calls(bool on) const { state().checking = on; }

}  // namespace weft
