#include "comm/mpi_transport.hpp"

#include <weft/comm/stats.hpp>
#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"
#include "comm/mpi_calls.hpp"
#include "comm/mpi_watchdog.hpp"
#include "core/this_rank.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

index_t count_limit = std::numeric_limits<int>::max();

// Messages of the program and those of large collectives must never match each other.
constexpr int user_tag = 0;
constexpr int collective_tag = 1;

std::byte* room(Buffer<std::byte>& buffer, index_t bytes, Device where) {
  if (buffer.size() < bytes || buffer.device() != where) buffer = Buffer<std::byte>(bytes, where);
  return buffer.data();
}

ConstBufferRef copy_of(ConstBufferRef in, Buffer<std::byte>& buffer) {
  const BufferRef made(room(buffer, in.bytes(), in.where), in.count, in.dtype, in.where);
  copy_and_wait(in, made);
  return made;
}

/// The parts follow one another, which is all that MPI_Reduce_scatter can express.
bool consecutive(const Parts& parts) {
  index_t end = 0;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    if (parts.offset(rank) != end) return false;
    end += parts.count(rank);
  }
  return true;
}

/// A number by which the ranks of a new communicator speak of it beside MPI: that of its first rank
/// in the job, and how many that has made. The low numbers are not used.
std::uint64_t make_id(MPI_Comm comm) {
  static std::atomic<std::uint32_t> made = 0;
  std::uint64_t id = static_cast<std::uint64_t>(job_rank() + 1) << 32 | made++;
  check(MPI_Bcast(&id, 1, MPI_UINT64_T, 0, comm), "MPI_Bcast");
  return id;
}

/// Where several functions share an argument `call`, null means: block until it is done.
MPI_Request* request_in(MpiCall* call) { return call == nullptr ? nullptr : call->add(); }

/// issue(first, count, request) for chunks that one MPI call takes; once if there are no elements.
template <class Issue>
void in_chunks(MpiCall* call, index_t count, Issue issue) {
  index_t first = 0;
  do {
    const index_t chunk = std::min(count - first, count_limit);
    issue(first, static_cast<int>(chunk), request_in(call));
    first += chunk;
  } while (first < count);
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(OwnedComm comm)
      : Transport(rank_in(comm.get()), detail::size_of(comm.get())),
        owned_(std::move(comm)),
        comm_(owned_.get()),
        watched_(MpiWatchdog::instance().add(make_id(comm_), job_ranks(comm_), Transport::rank())),
        calls_(*watched_) {}
  ~MpiTransport() override { MpiWatchdog::instance().remove(watched_); }

  std::string_view name() const override { return "mpi"; }
  bool accepts(Device device) const override {
    return device.host_accessible() || (device.kind == DeviceKind::cuda && mpi_is_cuda_aware());
  }
  bool ordered_on_stream() const override { return false; }
  std::shared_ptr<Transport> split(int color, int key) override;

  Ticket barrier(CallMode mode) override;
  Ticket broadcast(BufferRef data, int root, CallMode mode) override;
  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) override;
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

  bool test(const Ticket& ticket) override { return calls_.test(ticket); }
  void wait(const Ticket& ticket) override { calls_.wait(ticket); }
  void abandon(const Ticket& ticket) noexcept override { calls_.abandon(ticket); }
  void abort(const std::string& reason) noexcept override { abort_job(reason.c_str()); }

 private:
  /// The name of a call, for those who wait in it: that of the call it is a step of, if it is one.
  const char* to_string(CallKind kind) const {
    return step_of() != nullptr ? step_of() : weft::to_string(kind).data();
  }
  WatchedCollective watch(CallKind kind, CallMode mode) {
    return WatchedCollective(*watched_, to_string(kind), mode == CallMode::blocking);
  }
  void send_chunks(MpiCall& call, ConstBufferRef data, int to, int tag);
  void recv_chunks(MpiCall& call, BufferRef data, int from, int tag);
  void broadcast_chunks(MpiCall* call, BufferRef data, int root);
  void reduce_chunks(MpiCall* call, ConstBufferRef in, void* out, ReduceOp op, int root);
  /// MPICH 4.0 crashes when a root other than 0 reduces in place.
  bool must_be_apart(ConstBufferRef in, const void* out, int root) const {
    return root != 0 && root == rank() && in.data == out && in.count > 0;
  }
  void reduce_scatter_at_once(MpiCall& call, ConstBufferRef in, const Parts& parts, BufferRef out,
                              ReduceOp op, CallMode mode);
  void all_gather_at_once(MpiCall& call, BufferRef out, const Parts& parts, CallMode mode);

  /// Parts that others do not know of travel in one collective call if they are small, and each as
  /// a message of its own if not. Both ranks of a pair know how long the part between them is, so
  /// they need not agree; and all small ones together are never too much for one call.
  bool is_large(index_t count) const { return count > count_limit / size(); }
  bool travels_together(const Parts& parts, int peer) const {
    return peer != rank() && !is_large(parts.count(peer));
  }
  /// These return where the small parts are.
  const void* send_parts(MpiCall& call, ConstBufferRef in, const Parts& parts);
  void* recv_parts(MpiCall& call, BufferRef out, const Parts& parts);

  OwnedComm owned_;
  MPI_Comm comm_;
  std::shared_ptr<WatchedComm> watched_;
  MpiCalls calls_;
};

// Messages. The last chunk of each is shorter than the limit, if need be empty: so a receiver that
// expects more chunks than were sent sees where the message ends.

void MpiTransport::send_chunks(MpiCall& call, ConstBufferRef data, int to, int tag) {
  for (index_t first = 0; first <= data.count; first += count_limit) {
    const index_t chunk = std::min(data.count - first, count_limit);
    check(MPI_Isend(data.part(first, chunk).data, static_cast<int>(chunk), native(data.dtype), to,
                    tag, comm_, call.add()),
          "MPI_Isend");
  }
}

void MpiTransport::recv_chunks(MpiCall& call, BufferRef data, int from, int tag) {
  for (index_t first = 0; first <= data.count; first += count_limit) {
    const BufferRef chunk = data.part(first, std::min(data.count - first, count_limit));
    MPI_Request* request = call.add({.from = from,
                                     .bytes = chunk.bytes(),
                                     .bytes_before = data.part(0, first).bytes(),
                                     .message_bytes = data.bytes()});
    check(MPI_Irecv(chunk.data, static_cast<int>(chunk.count), native(data.dtype), from, tag, comm_,
                    request),
          "MPI_Irecv");
  }
}

Ticket MpiTransport::send(ConstBufferRef data, int to) {
  MpiCall& call = calls_.begin({.name = to_string(CallKind::send), .peer = to});
  send_chunks(call, data, to, user_tag);
  return calls_.finish(call, CallMode::nonblocking);
}

Ticket MpiTransport::recv(BufferRef data, int from) {
  MpiCall& call = calls_.begin({.name = to_string(CallKind::recv), .peer = from});
  recv_chunks(call, data, from, user_tag);
  return calls_.finish(call, CallMode::nonblocking);
}

// Collectives without parts

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
  in_chunks(call, data.count, [&](index_t first, int count, MPI_Request* request) {
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
  MpiCall& call = calls_.begin(watched.call());
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
    in_chunks(nullptr, in.count, issue);
    return {};
  }
  MpiCall& call = calls_.begin(watched.call());
  in_chunks(&call, in.count, issue);
  return calls_.finish(call, mode);
}

/// `out` is that of the root.
void MpiTransport::reduce_chunks(MpiCall* call, ConstBufferRef in, void* out, ReduceOp op,
                                 int root) {
  const MPI_Datatype type = native(in.dtype);
  const MPI_Op mpi_op = native(op, in.dtype);
  const bool writes = rank() == root;
  const BufferRef result(writes ? out : nullptr, in.count, in.dtype, in.where);
  in_chunks(call, in.count, [&](index_t first, int count, MPI_Request* request) {
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
  const bool apart = must_be_apart(in, out.data, root);
  if (mode == CallMode::blocking && !apart) {
    reduce_chunks(nullptr, in, out.data, op, root);
    return {};
  }
  MpiCall& call = calls_.begin(watched.call());
  if (apart) in = copy_of(in, call.scratch);
  reduce_chunks(mode == CallMode::blocking ? nullptr : &call, in, out.data, op, root);
  return calls_.finish(call, mode);
}

// Collectives whose parts all ranks know

Ticket MpiTransport::reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out,
                                    ReduceOp op, CallMode mode) {
  const WatchedCollective watched = watch(CallKind::reduce_scatter, mode);
  MpiCall& call = calls_.begin(watched.call());
  if (parts.extent() <= count_limit && consecutive(parts)) {
    reduce_scatter_at_once(call, in, parts, out, op, mode);
    return calls_.finish(call, mode);
  }
  for (int root = 0; root < size(); ++root) {
    ConstBufferRef part = in.part(parts.offset(root), parts.count(root));
    if (must_be_apart(part, out.data, root)) part = copy_of(part, call.scratch);
    reduce_chunks(mode == CallMode::blocking ? nullptr : &call, part, out.data, op, root);
  }
  return calls_.finish(call, mode);
}

void MpiTransport::reduce_scatter_at_once(MpiCall& call, ConstBufferRef in, const Parts& parts,
                                          BufferRef out, ReduceOp op, CallMode mode) {
  const MPI_Datatype type = native(in.dtype);
  const MPI_Op mpi_op = native(op, in.dtype);
  void* to = out.data;
  if (out.count > 0 && out.data == in.part(parts.offset(rank()), 0).data) {
    to = room(call.scratch, out.bytes(), out.where);
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
  // MPI wants it in place on all ranks or on none, and would make this copy itself.
  copy_and_wait(in, out.part(parts.offset(rank()), parts.count(rank())));
  MpiCall& call = calls_.begin(watched.call());
  if (parts.extent() <= count_limit) {
    all_gather_at_once(call, out, parts, mode);
    return calls_.finish(call, mode);
  }
  for (int root = 0; root < size(); ++root) {
    broadcast_chunks(mode == CallMode::blocking ? nullptr : &call,
                     out.part(parts.offset(root), parts.count(root)), root);
  }
  return calls_.finish(call, mode);
}

void MpiTransport::all_gather_at_once(MpiCall& call, BufferRef out, const Parts& parts,
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

// Collectives whose parts not all ranks know: even parts here may be uneven elsewhere, so that only
// the calls for uneven parts match on all ranks.

const void* MpiTransport::send_parts(MpiCall& call, ConstBufferRef in, const Parts& parts) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank() || !is_large(parts.count(peer))) continue;
    send_chunks(call, in.part(parts.offset(peer), parts.count(peer)), peer, collective_tag);
  }
  call.sent.assign(parts, [&](int peer) { return travels_together(parts, peer); });
  if (parts.extent() <= count_limit) return in.data;

  const index_t count = call.sent.pack();
  const BufferRef packed(room(call.send_scratch, count * size_of(in.dtype), in.where), count,
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
  call.received.assign(parts, [&](int peer) { return travels_together(parts, peer); });
  if (parts.extent() <= count_limit) return out.data;

  const index_t count = call.received.pack();
  const BufferRef packed(room(call.recv_scratch, count * size_of(out.dtype), out.where), count,
                         out.dtype, out.where);
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
  MpiCall& call = calls_.begin(watched.call());
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
  MpiCall& call = calls_.begin(watched.call());
  const MPI_Datatype type = native(out.dtype);
  const void* from = nullptr;
  void* to = out.data;
  int count = 0;
  if (rank() == root) {
    from = send_parts(call, in, parts);
    to = MPI_IN_PLACE;
    // Last, since `out` may be where other ranks' parts are still read from.
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
  MpiCall& call = calls_.begin(watched.call());
  const MPI_Datatype type = native(in.dtype);
  if (in.data == out.data) in = copy_of(in, call.scratch);
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

// The job

std::shared_ptr<Transport> MpiTransport::split(int color, int key) {
  const WatchedCollective watched(*watched_, "split", true);
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color < 0 ? MPI_UNDEFINED : color, key, &part), "MPI_Comm_split");
  if (part == MPI_COMM_NULL) return nullptr;
  return std::make_shared<MpiTransport>(OwnedComm(part));
}

std::shared_ptr<Transport> duplicate(MPI_Comm parent) {
  const LoneWait wait("MPI_Comm_dup");
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
  set_this_rank(job_rank());
  return std::make_shared<MpiTransport>(OwnedComm(comm));
}

}  // namespace

std::shared_ptr<Transport> make_mpi_transport(int fortran_handle) {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized == 0) throw CommError("mpi_comm: MPI_Init has not been called yet");
  return duplicate(MPI_Comm_f2c(fortran_handle));
}

std::shared_ptr<Transport> make_mpi_world() { return duplicate(MPI_COMM_WORLD); }

void set_mpi_count_limit(index_t elements) {
  require(elements > 0 && elements <= std::numeric_limits<int>::max(),
          "set_mpi_count_limit: {} is not a count that MPI takes", elements);
  count_limit = elements;
}

}  // namespace weft::detail
