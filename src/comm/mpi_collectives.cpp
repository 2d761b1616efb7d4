#include "comm/memory_ops.hpp"
#include "comm/mpi_transport.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

/// Memory of at least `bytes` bytes, reused between calls.
std::byte* scratch_of(Buffer<std::byte>& buffer, index_t bytes, Device where) {
  if (buffer.size() < bytes || buffer.device() != where) buffer = Buffer<std::byte>(bytes, where);
  return buffer.data();
}

ConstBufferRef copy_of(ConstBufferRef in, Buffer<std::byte>& buffer) {
  const BufferRef result(scratch_of(buffer, in.bytes(), in.where), in.count, in.dtype, in.where);
  copy_and_wait(in, result);
  return result;
}

/// Consecutive parts, as MPI_Reduce_scatter requires.
bool consecutive(const Parts& parts) {
  index_t end = 0;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    if (parts.offset(rank) != end) return false;
    end += parts.count(rank);
  }
  return true;
}

/// In the functions below, a null `call` means a blocking call.
MPI_Request* request_in(MpiCall* call) { return call == nullptr ? nullptr : call->add(); }

/// Calls issue(first, count, request) for chunks that fit one MPI call; once without elements.
template <class Issue>
void for_each_chunk(MpiCall* call, index_t count, Issue issue) {
  index_t first = 0;
  do {
    const index_t chunk = std::min(count - first, MpiTransport::count_limit);
    issue(first, static_cast<int>(chunk), request_in(call));
    first += chunk;
  } while (first < count);
}

}  // namespace

Ticket MpiTransport::barrier(CallMode mode) {
  const WatchedCollective watched = watch(CallKind::barrier, mode);
  if (mode == CallMode::blocking) {
    check(MPI_Barrier(comm_), "MPI_Barrier");
    return {};
  }
  MpiCall& call = calls_.begin(watched.call());
  check(MPI_Ibarrier(comm_, call.add()), "MPI_Ibarrier");
  return calls_.finish(call, mode);
}

void MpiTransport::broadcast_chunks(MpiCall* call, BufferRef data, int root) {
  const MPI_Datatype type = native(data.dtype);
  for_each_chunk(call, data.count, [&](index_t first, int count, MPI_Request* request) {
    void* chunk = data.part(first, count).data;
    check(request == nullptr ? MPI_Bcast(chunk, count, type, root, comm_)
                             : MPI_Ibcast(chunk, count, type, root, comm_, request),
          "MPI_Bcast");
  });
}

Ticket MpiTransport::broadcast(BufferRef data, int root, CallMode mode) {
  const WatchedCollective watched = watch(CallKind::broadcast, mode);
  if (mode == CallMode::blocking) {
    broadcast_chunks(nullptr, data, root);
    return {};
  }
  MpiCall& call = calls_.begin(watched.call(), chunks_of(data.count));
  broadcast_chunks(&call, data, root);
  return calls_.finish(call, mode);
}

Ticket MpiTransport::allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) {
  const WatchedCollective watched = watch(CallKind::allreduce, mode);
  const MPI_Datatype type = native(in.dtype);
  const MPI_Op mpi_op = native(op, in.dtype);
  const auto issue = [&](index_t first, int count, MPI_Request* request) {
    const void* from = in.data == out.data ? MPI_IN_PLACE : in.part(first, count).data;
    void* to = out.part(first, count).data;
    check(request == nullptr ? MPI_Allreduce(from, to, count, type, mpi_op, comm_)
                             : MPI_Iallreduce(from, to, count, type, mpi_op, comm_, request),
          "MPI_Allreduce");
  };
  if (mode == CallMode::blocking) {
    for_each_chunk(nullptr, in.count, issue);
    return {};
  }
  MpiCall& call = calls_.begin(watched.call(), chunks_of(in.count));
  for_each_chunk(&call, in.count, issue);
  return calls_.finish(call, mode);
}

/// `out` is the result on the root.
void MpiTransport::reduce_chunks(MpiCall* call, ConstBufferRef in, void* out, ReduceOp op,
                                 int root) {
  const MPI_Datatype type = native(in.dtype);
  const MPI_Op mpi_op = native(op, in.dtype);
  const bool writes = rank() == root;
  const BufferRef result(writes ? out : nullptr, in.count, in.dtype, in.where);
  for_each_chunk(call, in.count, [&](index_t first, int count, MPI_Request* request) {
    const void* from = writes && in.data == out ? MPI_IN_PLACE : in.part(first, count).data;
    void* to = writes ? result.part(first, count).data : nullptr;
    check(request == nullptr ? MPI_Reduce(from, to, count, type, mpi_op, root, comm_)
                             : MPI_Ireduce(from, to, count, type, mpi_op, root, comm_, request),
          "MPI_Reduce");
  });
}

Ticket MpiTransport::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root,
                            CallMode mode) {
  const WatchedCollective watched = watch(CallKind::reduce, mode);
  const bool copies = needs_copy(in, out.data, root);
  if (mode == CallMode::blocking && !copies) {
    reduce_chunks(nullptr, in, out.data, op, root);
    return {};
  }
  MpiCall& call = calls_.begin(watched.call(), chunks_of(in.count));
  if (copies) in = copy_of(in, call.scratch);
  reduce_chunks(mode == CallMode::blocking ? nullptr : &call, in, out.data, op, root);
  return calls_.finish(call, mode);
}

// Collectives with parts that all ranks know

Ticket MpiTransport::reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out,
                                    ReduceOp op, CallMode mode) {
  const WatchedCollective watched = watch(CallKind::reduce_scatter, mode);
  const bool small = parts.extent() <= count_limit && consecutive(parts);
  MpiCall& call = calls_.begin(watched.call(), small ? 1 : chunks_of(parts));
  if (small) {
    reduce_scatter_small(call, in, parts, out, op, mode);
    return calls_.finish(call, mode);
  }
  for (int root = 0; root < size(); ++root) {
    ConstBufferRef part = in.part(parts.offset(root), parts.count(root));
    if (needs_copy(part, out.data, root)) part = copy_of(part, call.scratch);
    reduce_chunks(mode == CallMode::blocking ? nullptr : &call, part, out.data, op, root);
  }
  return calls_.finish(call, mode);
}

void MpiTransport::reduce_scatter_small(MpiCall& call, ConstBufferRef in, const Parts& parts,
                                        BufferRef out, ReduceOp op, CallMode mode) {
  const MPI_Datatype type = native(in.dtype);
  const MPI_Op mpi_op = native(op, in.dtype);
  void* to = out.data;
  if (out.count > 0 && out.data == in.part(parts.offset(rank()), 0).data) {
    to = scratch_of(call.scratch, out.bytes(), out.where);
    call.copies.emplace_back(ConstBufferRef(to, out.count, out.dtype, out.where), out);
  }
  MPI_Request* request = mode == CallMode::blocking ? nullptr : call.add();
  if (parts.even()) {
    const int count = static_cast<int>(parts.count(0));
    check(request == nullptr
              ? MPI_Reduce_scatter_block(in.data, to, count, type, mpi_op, comm_)
              : MPI_Ireduce_scatter_block(in.data, to, count, type, mpi_op, comm_, request),
          "MPI_Reduce_scatter_block");
    return;
  }
  call.sent.assign(parts, [](int) { return true; });
  const int* counts = call.sent.counts.data();
  check(request == nullptr ? MPI_Reduce_scatter(in.data, to, counts, type, mpi_op, comm_)
                           : MPI_Ireduce_scatter(in.data, to, counts, type, mpi_op, comm_, request),
        "MPI_Reduce_scatter");
}

Ticket MpiTransport::all_gather(ConstBufferRef in, BufferRef out, const Parts& parts,
                                CallMode mode) {
  const WatchedCollective watched = watch(CallKind::all_gather, mode);
  // MPI requires all ranks or none to be in place, and would make this copy itself.
  copy_and_wait(in, out.part(parts.offset(rank()), parts.count(rank())));
  const bool small = parts.extent() <= count_limit;
  MpiCall& call = calls_.begin(watched.call(), small ? 1 : chunks_of(parts));
  if (small) {
    all_gather_small(call, out, parts, mode);
    return calls_.finish(call, mode);
  }
  for (int root = 0; root < size(); ++root) {
    broadcast_chunks(mode == CallMode::blocking ? nullptr : &call,
                     out.part(parts.offset(root), parts.count(root)), root);
  }
  return calls_.finish(call, mode);
}

void MpiTransport::all_gather_small(MpiCall& call, BufferRef out, const Parts& parts,
                                    CallMode mode) {
  const MPI_Datatype type = native(out.dtype);
  MPI_Request* request = mode == CallMode::blocking ? nullptr : call.add();
  if (parts.even()) {
    const int count = static_cast<int>(parts.count(0));
    check(request == nullptr
              ? MPI_Allgather(MPI_IN_PLACE, 0, type, out.data, count, type, comm_)
              : MPI_Iallgather(MPI_IN_PLACE, 0, type, out.data, count, type, comm_, request),
          "MPI_Allgather");
    return;
  }
  call.received.assign(parts, [](int) { return true; });
  const auto& [counts, offsets] = call.received;
  check(request == nullptr ? MPI_Allgatherv(MPI_IN_PLACE, 0, type, out.data, counts.data(),
                                            offsets.data(), type, comm_)
                           : MPI_Iallgatherv(MPI_IN_PLACE, 0, type, out.data, counts.data(),
                                             offsets.data(), type, comm_, request),
        "MPI_Allgatherv");
}

// Collectives with parts that not all ranks know. Parts that are even here may be uneven elsewhere,
// so all ranks use the calls for uneven parts.

const void* MpiTransport::send_parts(MpiCall& call, ConstBufferRef in, const Parts& parts) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank() || !is_large(parts.count(peer))) continue;
    send_chunks(call, in.part(parts.offset(peer), parts.count(peer)), peer, collective_tag);
  }
  call.sent.assign(parts, [&](int peer) { return is_small_part(parts, peer); });
  if (parts.extent() <= count_limit) return in.data;

  const index_t count = call.sent.pack();
  const BufferRef packed(scratch_of(call.send_scratch, count * size_of(in.dtype), in.where), count,
                         in.dtype, in.where);
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    copy_and_wait(in.part(parts.offset(peer), call.sent.counts[at]),
                  packed.part(call.sent.offsets[at], call.sent.counts[at]));
  }
  return packed.data;
}

void* MpiTransport::recv_parts(MpiCall& call, BufferRef out, const Parts& parts) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank() || !is_large(parts.count(peer))) continue;
    recv_chunks(call, out.part(parts.offset(peer), parts.count(peer)), peer, collective_tag);
  }
  call.received.assign(parts, [&](int peer) { return is_small_part(parts, peer); });
  if (parts.extent() <= count_limit) return out.data;

  const index_t count = call.received.pack();
  const BufferRef packed(scratch_of(call.recv_scratch, count * size_of(out.dtype), out.where),
                         count, out.dtype, out.where);
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    const index_t part = call.received.counts[at];
    call.copies.emplace_back(packed.part(call.received.offsets[at], part),
                             out.part(parts.offset(peer), part));
  }
  return packed.data;
}

Ticket MpiTransport::gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                            CallMode mode) {
  const WatchedCollective watched = watch(CallKind::gather, mode);
  const std::size_t messages = rank() == root ? large_chunks_of(parts) : chunks_of(in.count);
  MpiCall& call = calls_.begin(watched.call(), messages + 1);
  const MPI_Datatype type = native(in.dtype);
  const void* from = in.data;
  int count = 0;
  void* to = nullptr;
  if (rank() == root) {
    copy_and_wait(in, out.part(parts.offset(root), parts.count(root)));
    from = MPI_IN_PLACE;
    to = recv_parts(call, out, parts);
  } else if (is_large(in.count)) {
    send_chunks(call, in, root, collective_tag);
  } else {
    count = static_cast<int>(in.count);
  }
  const auto& [counts, offsets] = call.received;
  check(mode == CallMode::blocking
            ? MPI_Gatherv(from, count, type, to, counts.data(), offsets.data(), type, root, comm_)
            : MPI_Igatherv(from, count, type, to, counts.data(), offsets.data(), type, root, comm_,
                           call.add()),
        "MPI_Gatherv");
  return calls_.finish(call, mode);
}

Ticket MpiTransport::scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                             CallMode mode) {
  const WatchedCollective watched = watch(CallKind::scatter, mode);
  const std::size_t messages = rank() == root ? large_chunks_of(parts) : chunks_of(out.count);
  MpiCall& call = calls_.begin(watched.call(), messages + 1);
  const MPI_Datatype type = native(out.dtype);
  const void* from = nullptr;
  void* to = out.data;
  int count = 0;
  if (rank() == root) {
    from = send_parts(call, in, parts);
    to = MPI_IN_PLACE;
    // Copied last: `out` may overlap the parts of other ranks until they are sent.
    call.copies.emplace_back(in.part(parts.offset(root), parts.count(root)), out);
  } else if (is_large(out.count)) {
    recv_chunks(call, out, root, collective_tag);
  } else {
    count = static_cast<int>(out.count);
  }
  const auto& [counts, offsets] = call.sent;
  check(mode == CallMode::blocking
            ? MPI_Scatterv(from, counts.data(), offsets.data(), type, to, count, type, root, comm_)
            : MPI_Iscatterv(from, counts.data(), offsets.data(), type, to, count, type, root, comm_,
                            call.add()),
        "MPI_Scatterv");
  return calls_.finish(call, mode);
}

Ticket MpiTransport::all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out,
                                const Parts& received, CallMode mode) {
  const WatchedCollective watched = watch(CallKind::all_to_all, mode);
  MpiCall& call =
      calls_.begin(watched.call(), large_chunks_of(received) + large_chunks_of(sent) + 1);
  const MPI_Datatype type = native(in.dtype);
  copy_and_wait(in.part(sent.offset(rank()), sent.count(rank())),
                out.part(received.offset(rank()), received.count(rank())));
  void* to = recv_parts(call, out, received);
  const void* from = send_parts(call, in, sent);
  const int* send_counts = call.sent.counts.data();
  const int* send_offsets = call.sent.offsets.data();
  const int* recv_counts = call.received.counts.data();
  const int* recv_offsets = call.received.offsets.data();
  check(mode == CallMode::blocking
            ? MPI_Alltoallv(from, send_counts, send_offsets, type, to, recv_counts, recv_offsets,
                            type, comm_)
            : MPI_Ialltoallv(from, send_counts, send_offsets, type, to, recv_counts, recv_offsets,
                             type, comm_, call.add()),
        "MPI_Alltoallv");
  return calls_.finish(call, mode);
}

}  // namespace weft::detail
