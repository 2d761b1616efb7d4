#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include "comm/arguments.hpp"
#include "comm/collective_checks.hpp"
#include "comm/issue_call.hpp"

#include <memory>

/// The collectives, blocking and nonblocking: arguments are checked, compared between ranks with
/// checked calls, and passed to the transport.
namespace weft::detail::calls {
namespace {

using State = std::shared_ptr<CommState>;

Request barrier(const State& state, CallMode mode) {
  verify_if_checking(*state, {code(CallKind::barrier), any, any, any, any, any});
  return issue_call(state,
                    {.kind = CallKind::barrier, .traffic = one_message(*state, 0), .mode = mode},
                    [&](Transport& via, const Call& call) { return via.barrier(call.mode); });
}

/// Transports take one buffer, as MPI does, and do not write that of the root.
BufferRef root_buffer(ConstBufferRef in) {
  return {const_cast<void*>(in.data), in.count, in.dtype, in.where};
}

Request broadcast(const State& state, ConstBufferRef in, BufferRef out, int root, CallMode mode) {
  require_root(*state, root, "broadcast");
  const bool is_root = state->rank() == root;
  if (is_root) {
    out = BufferRef(nullptr, 0, in.dtype, in.where);
  } else {
    in = out;
  }
  require_memory(in, "broadcast");
  verify_if_checking(*state, {code(CallKind::broadcast), type_code(in), any, root, in.count, any});
  const Traffic traffic = is_root ? one_message(*state, in.bytes()) : Traffic();
  return issue_call(
      state, {.kind = CallKind::broadcast, .traffic = traffic, .in = in, .out = out, .mode = mode},
      [&](Transport& via, const Call& call) {
        return via.broadcast(is_root ? root_buffer(call.in) : call.out, root, call.mode);
      });
}

Request allreduce(const State& state, ConstBufferRef in, BufferRef out, ReduceOp op,
                  CallMode mode) {
  require_same(in, out, "allreduce");
  require_count(out, in.count, "out", "allreduce");
  require_op(in.dtype, op, "allreduce");
  require_no_overlap(in, out, in.data, "allreduce");
  verify_if_checking(*state,
                     {code(CallKind::allreduce), type_code(in), code(op), any, in.count, any});
  return issue_call(state,
                    {.kind = CallKind::allreduce,
                     .traffic = one_message(*state, in.bytes()),
                     .in = in,
                     .out = out,
                     .op = op,
                     .mode = mode},
                    [&](Transport& via, const Call& call) {
                      return via.allreduce(call.in, call.out, call.op, call.mode);
                    });
}

Request reduce(const State& state, ConstBufferRef in, BufferRef out, ReduceOp op, int root,
               CallMode mode) {
  require_root(*state, root, "reduce");
  require_memory(in, "reduce");
  require_op(in.dtype, op, "reduce");
  if (state->rank() == root) {
    require_same(in, out, "reduce");
    require_count(out, in.count, "out", "reduce");
    require_no_overlap(in, out, in.data, "reduce");
  } else {
    out = BufferRef(nullptr, 0, in.dtype, in.where);
  }
  verify_if_checking(*state,
                     {code(CallKind::reduce), type_code(in), code(op), root, in.count, any});
  return issue_call(state,
                    {.kind = CallKind::reduce,
                     .traffic = one_message(*state, in.bytes()),
                     .in = in,
                     .out = out,
                     .op = op,
                     .mode = mode},
                    [&](Transport& via, const Call& call) {
                      return via.reduce(call.in, call.out, call.op, root, call.mode);
                    });
}

Request reduce_scatter(const State& state, ConstBufferRef in, const Parts& parts, BufferRef out,
                       ReduceOp op, CallMode mode) {
  require_same(in, out, "reduce_scatter");
  require_op(in.dtype, op, "reduce_scatter");
  require_parts(*state, parts, in, "in", "reduce_scatter");
  require_count(out, parts.count(state->rank()), "out", "reduce_scatter");
  require_no_overlap(in, out, in.part(parts.offset(state->rank()), 0).data, "reduce_scatter");
  if (state->checking) {  // hashing the parts takes time
    verify(*state, {code(CallKind::reduce_scatter), type_code(in), code(op), any, in.count,
                    hash_of(parts)});
  }
  return issue_call(state,
                    {.kind = CallKind::reduce_scatter,
                     .traffic = messages_of(*state, parts, in.dtype),
                     .in = in,
                     .out = out,
                     .op = op,
                     .mode = mode},
                    [&](Transport& via, const Call& call) {
                      return via.reduce_scatter(call.in, parts, call.out, call.op, call.mode);
                    });
}

Request all_gather(const State& state, ConstBufferRef in, BufferRef out, const Parts& parts,
                   CallMode mode) {
  require_same(in, out, "all_gather");
  require_parts(*state, parts, out, "out", "all_gather");
  require_count(in, parts.count(state->rank()), "in", "all_gather");
  require_no_overlap(out, in, out.part(parts.offset(state->rank()), 0).data, "all_gather");
  if (state->checking) {
    verify(*state, {code(CallKind::all_gather), type_code(in), any, any, any, hash_of(parts)});
  }
  return issue_call(state,
                    {.kind = CallKind::all_gather,
                     .traffic = one_message(*state, in.bytes()),
                     .in = in,
                     .out = out,
                     .mode = mode},
                    [&](Transport& via, const Call& call) {
                      return via.all_gather(call.in, call.out, parts, call.mode);
                    });
}

Request gather(const State& state, ConstBufferRef in, BufferRef out, const Parts& parts, int root,
               CallMode mode) {
  require_root(*state, root, "gather");
  require_memory(in, "gather");
  if (state->rank() == root) {
    require_same(in, out, "gather");
    require_parts(*state, parts, out, "out", "gather");
    require_count(in, parts.count(root), "in", "gather");
    require_no_overlap(out, in, out.part(parts.offset(root), 0).data, "gather");
  } else {
    out = BufferRef(nullptr, 0, in.dtype, in.where);
  }
  verify_gather(*state, in, parts, root);
  const Traffic traffic = state->rank() == root ? Traffic() : one_message(*state, in.bytes());
  return issue_call(
      state, {.kind = CallKind::gather, .traffic = traffic, .in = in, .out = out, .mode = mode},
      [&](Transport& via, const Call& call) {
        return via.gather(call.in, call.out, parts, root, call.mode);
      });
}

Request scatter(const State& state, ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                CallMode mode) {
  require_root(*state, root, "scatter");
  require_memory(out, "scatter");
  Traffic traffic;
  if (state->rank() == root) {
    require_same(in, out, "scatter");
    require_parts(*state, parts, in, "in", "scatter");
    require_count(out, parts.count(root), "out", "scatter");
    require_no_overlap(in, out, in.part(parts.offset(root), 0).data, "scatter");
    traffic = messages_of(*state, parts, in.dtype);
  } else {
    in = ConstBufferRef(nullptr, 0, out.dtype, out.where);
  }
  verify_scatter(*state, out, parts, root);
  return issue_call(
      state, {.kind = CallKind::scatter, .traffic = traffic, .in = in, .out = out, .mode = mode},
      [&](Transport& via, const Call& call) {
        return via.scatter(call.in, parts, call.out, root, call.mode);
      });
}

Request all_to_all(const State& state, ConstBufferRef in, const Parts& sent, BufferRef out,
                   const Parts& received, CallMode mode) {
  require_same(in, out, "all_to_all");
  require_parts(*state, sent, in, "in", "all_to_all");
  require_parts(*state, received, out, "out", "all_to_all");
  require_no_overlap(in, out, nullptr, "all_to_all");
  verify_all_to_all(*state, in, sent, received);
  const int self = state->rank();
  require(sent.count(self) == received.count(self),
          "Comm::all_to_all: rank {} sends {} elements to itself, but expects {}", self,
          sent.count(self), received.count(self));
  return issue_call(state,
                    {.kind = CallKind::all_to_all,
                     .traffic = messages_of(*state, sent, in.dtype),
                     .in = in,
                     .out = out,
                     .mode = mode},
                    [&](Transport& via, const Call& call) {
                      return via.all_to_all(call.in, sent, call.out, received, call.mode);
                    });
}

}  // namespace
}  // namespace weft::detail::calls

namespace weft {

namespace calls = detail::calls;
using detail::CallMode;
using detail::require_count;
using detail::require_root;

void Comm::barrier() const { calls::barrier(state(), CallMode::blocking).wait(); }

void Comm::broadcast(BufferRef data, int root) const { broadcast(data, data, root); }

void Comm::broadcast(ConstBufferRef in, BufferRef out, int root) const {
  calls::broadcast(state(), in, out, root, CallMode::blocking).wait();
}

void Comm::allreduce(ConstBufferRef in, BufferRef out, ReduceOp op) const {
  calls::allreduce(state(), in, out, op, CallMode::blocking).wait();
}

void Comm::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root) const {
  calls::reduce(state(), in, out, op, root, CallMode::blocking).wait();
}

void Comm::reduce_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out,
                            ReduceOp op) const {
  calls::reduce_scatter(state(), in, parts, out, op, CallMode::blocking).wait();
}

void Comm::all_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts) const {
  calls::all_gather(state(), in, out, parts, CallMode::blocking).wait();
}

void Comm::gather_v(ConstBufferRef in, BufferRef out, const Parts& parts, int root) const {
  calls::gather(state(), in, out, parts, root, CallMode::blocking).wait();
}

void Comm::scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out, int root) const {
  calls::scatter(state(), in, parts, out, root, CallMode::blocking).wait();
}

void Comm::all_to_all_v(ConstBufferRef in, const Parts& sent, BufferRef out,
                        const Parts& received) const {
  calls::all_to_all(state(), in, sent, out, received, CallMode::blocking).wait();
}

// Even collectives are uneven ones with parts of equal length.

void Comm::reduce_scatter(ConstBufferRef in, BufferRef out, ReduceOp op) const {
  state()->even_in.make_even(size(), out.count);
  require_count(in, state()->even_in.extent(), "in", "reduce_scatter");
  reduce_scatter_v(in, state()->even_in, out, op);
}

void Comm::all_gather(ConstBufferRef in, BufferRef out) const {
  state()->even_out.make_even(size(), in.count);
  require_count(out, state()->even_out.extent(), "out", "all_gather");
  all_gather_v(in, out, state()->even_out);
}

void Comm::gather(ConstBufferRef in, BufferRef out, int root) const {
  require_root(*state(), root, "gather");
  state()->even_out.make_even(size(), in.count);
  if (rank() == root) require_count(out, state()->even_out.extent(), "out", "gather");
  gather_v(in, out, state()->even_out, root);
}

void Comm::scatter(ConstBufferRef in, BufferRef out, int root) const {
  require_root(*state(), root, "scatter");
  state()->even_in.make_even(size(), out.count);
  if (rank() == root) require_count(in, state()->even_in.extent(), "in", "scatter");
  scatter_v(in, state()->even_in, out, root);
}

void Comm::all_to_all(ConstBufferRef in, BufferRef out) const {
  require(in.count % size() == 0, "Comm::all_to_all: {} elements cannot be divided among {} ranks",
          in.count, size());
  require_count(out, in.count, "out", "all_to_all");
  state()->even_in.make_even(size(), in.count / size());
  all_to_all_v(in, state()->even_in, out, state()->even_in);
}

Request Comm::start_barrier() const { return calls::barrier(state(), CallMode::nonblocking); }

Request Comm::start_broadcast(AsyncBufferRef data, int root) const {
  return calls::broadcast(state(), data, data, root, CallMode::nonblocking);
}

Request Comm::start_allreduce(AsyncConstBufferRef in, AsyncBufferRef out, ReduceOp op) const {
  return calls::allreduce(state(), in, out, op, CallMode::nonblocking);
}

Request Comm::start_reduce(AsyncConstBufferRef in, AsyncBufferRef out, ReduceOp op,
                           int root) const {
  return calls::reduce(state(), in, out, op, root, CallMode::nonblocking);
}

Request Comm::start_reduce_scatter_v(AsyncConstBufferRef in, AsyncParts parts, AsyncBufferRef out,
                                     ReduceOp op) const {
  return calls::reduce_scatter(state(), in, parts, out, op, CallMode::nonblocking);
}

Request Comm::start_all_gather_v(AsyncConstBufferRef in, AsyncBufferRef out,
                                 AsyncParts parts) const {
  return calls::all_gather(state(), in, out, parts, CallMode::nonblocking);
}

Request Comm::start_gather_v(AsyncConstBufferRef in, AsyncBufferRef out, AsyncParts parts,
                             int root) const {
  return calls::gather(state(), in, out, parts, root, CallMode::nonblocking);
}

Request Comm::start_scatter_v(AsyncConstBufferRef in, AsyncParts parts, AsyncBufferRef out,
                              int root) const {
  return calls::scatter(state(), in, parts, out, root, CallMode::nonblocking);
}

Request Comm::start_all_to_all_v(AsyncConstBufferRef in, AsyncParts sent, AsyncBufferRef out,
                                 AsyncParts received) const {
  return calls::all_to_all(state(), in, sent, out, received, CallMode::nonblocking);
}

}  // namespace weft
