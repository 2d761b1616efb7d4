#pragma once

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/parts.hpp>
#include <weft/comm/reduce_op.hpp>
#include <weft/comm/request.hpp>
#include <weft/comm/stats.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// How data in the memory of a device is sent to other ranks, and why that way was chosen.
struct Route {
  /// "self", "thread" (ranks read each other's memory), "fast" (their kernels do), "nccl", "mpi"
  /// (CUDA-aware MPI), "staged" (through pinned host memory) or "none" (refused).
  std::string name;
  std::string reason;
  /// A Graph can capture calls on this route.
  bool capturable = false;
};

/// "nccl (all ranks have GPUs of their own)"
std::string to_string(const Route& route);

/// A communicator: a handle on a set of ranks that call collectives together. Copies share one
/// communicator; on each rank one thread at a time may use it. All ranks make the same collective
/// calls in the same order; WEFT_CHECK=1 (or check_calls) verifies that and reports ranks that
/// differ.
///
/// Data is anything contiguous: a vector, a span, a Buffer. Parts may be uneven or empty. `in` and
/// `out` may be the same memory, except in all_to_all: in gather and all_gather, `in` is then this
/// rank's part of `out`; in scatter and reduce_scatter, `out` is its part of `in`. Otherwise they
/// must not overlap. Device memory is sent by its route(); calls on it are ordered on this thread's
/// stream and return when they are issued.
class Comm {
 public:
  /// The communicator of this rank alone.
  static Comm self();

  int rank() const;
  int size() const;
  /// "self", "thread" or "mpi".
  std::string_view transport() const;
  /// The default device of layouts on this communicator.
  Device device() const;
  /// The same communicator with another default device. Collective for GPUs: chooses the route
  /// between them, one GPU per rank. Before that, GPU memory is staged.
  Comm on(Device device) const;
  /// The route of a device's memory; for GPUs, of the one passed to on().
  Route route(Device device) const;

  /// One communicator per color >= 0, its ranks ordered by key, then by rank. Ranks that pass a
  /// negative color get one that is not valid().
  Comm split(int color, int key = 0) const;
  Comm dup() const;
  bool valid() const { return state_ != nullptr; }
  /// True for handles of the same communicator. All communicators made from self() are equal.
  friend bool operator==(const Comm& a, const Comm& b);

  void barrier() const;
  void broadcast(BufferRef data, int root) const;
  /// Reads `in` on the root only, and writes `out` on the other ranks only.
  void broadcast(ConstBufferRef in, BufferRef out, int root) const;
  void allreduce(ConstBufferRef in, BufferRef out, ReduceOp op = ReduceOp::sum) const;
  void allreduce(BufferRef data, ReduceOp op = ReduceOp::sum) const { allreduce(data, data, op); }
  /// Writes `out` only on the root.
  void reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root) const;
  /// Reduces `in` and leaves part r of the result on rank r.
  void reduce_scatter(ConstBufferRef in, BufferRef out, ReduceOp op = ReduceOp::sum) const;
  /// `parts` must be the same on all ranks, here and in all_gather_v.
  void reduce_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out,
                        ReduceOp op = ReduceOp::sum) const;
  void all_gather(ConstBufferRef in, BufferRef out) const;
  void all_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts) const;
  void gather(ConstBufferRef in, BufferRef out, int root) const;
  /// `parts` may differ from the root's on other ranks; only the root's is used.
  void gather_v(ConstBufferRef in, BufferRef out, const Parts& parts, int root) const;
  void scatter(ConstBufferRef in, BufferRef out, int root) const;
  void scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out, int root) const;
  void all_to_all(ConstBufferRef in, BufferRef out) const;
  void all_to_all_v(ConstBufferRef in, const Parts& sent, BufferRef out,
                    const Parts& received) const;

  /// May block until the receiver has posted the matching recv: two ranks that both send first
  /// deadlock (on threads, until the time limit). Use sendrecv or a MessageBatch to exchange.
  void send(ConstBufferRef data, int to) const;
  void recv(BufferRef data, int from) const;
  void sendrecv(ConstBufferRef out, int to, BufferRef in, int from) const;

  /// Nonblocking forms, completed by the Request. Memory and parts must not change or be released
  /// before that, and cannot be temporaries. On threads, the ninth collective in progress waits for
  /// the first to complete; with checked calls, each one waits until all ranks have started it.
  Request start_barrier() const;
  Request start_broadcast(AsyncBufferRef data, int root) const;
  Request start_allreduce(AsyncConstBufferRef in, AsyncBufferRef out,
                          ReduceOp op = ReduceOp::sum) const;
  Request start_reduce(AsyncConstBufferRef in, AsyncBufferRef out, ReduceOp op, int root) const;
  Request start_reduce_scatter_v(AsyncConstBufferRef in, AsyncParts parts, AsyncBufferRef out,
                                 ReduceOp op = ReduceOp::sum) const;
  Request start_all_gather_v(AsyncConstBufferRef in, AsyncBufferRef out, AsyncParts parts) const;
  Request start_gather_v(AsyncConstBufferRef in, AsyncBufferRef out, AsyncParts parts,
                         int root) const;
  Request start_scatter_v(AsyncConstBufferRef in, AsyncParts parts, AsyncBufferRef out,
                          int root) const;
  Request start_all_to_all_v(AsyncConstBufferRef in, AsyncParts sent, AsyncBufferRef out,
                             AsyncParts received) const;
  Request start_send(AsyncConstBufferRef data, int to) const;
  Request start_recv(AsyncBufferRef data, int from) const;

  /// Reduces one number: `double total = comm.allreduce(mine, ReduceOp::sum);`
  template <Communicable T>
  T allreduce(T value, ReduceOp op = ReduceOp::sum) const {
    allreduce(BufferRef(&value, 1), op);
    return value;
  }

  /// Collective: if any rank passes a non-empty error text, all ranks throw the same AgreedError.
  /// The communicator remains usable.
  void agree(std::string_view error = {}) const;
  /// Collective: throws the same AgreedError on all ranks unless all pass the same `hash`. The
  /// error contains what describe() returns on each rank. stats() counts neither this nor agree().
  void agree_on(std::uint64_t hash, const std::function<std::string()>& describe) const;
  /// Makes the current and later calls of all other ranks throw an AbortedError with this reason.
  void abort(const std::string& reason) const noexcept;

  /// Throws the error of a Request that was destroyed instead of waited for, unless a call has
  /// thrown it since. launch and run_threads do so when the program returns.
  void throw_held_error() const;

  /// Counts of the calls and messages of this rank on this communicator.
  const Stats& stats() const;
  void reset_stats() const;
  /// From now on this rank measures the time of its calls for stats(); WEFT_PROFILE=1 does so from
  /// the start. Not collective.
  void time_calls(bool on) const;
  bool checks_calls() const;
  /// Collective: from now on the ranks compare each call before they make it.
  void check_calls(bool on) const;

 private:
  friend struct detail::CommAccess;
  Comm(std::shared_ptr<detail::CommState> state, Device device);
  /// Throws if this is not a valid communicator.
  const std::shared_ptr<detail::CommState>& state() const;

  std::shared_ptr<detail::CommState> state_;
  Device device_;
};

}  // namespace weft
