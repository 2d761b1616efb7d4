#pragma once

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/request.hpp>
#include <weft/comm/stats.hpp>
#include <weft/comm/transport.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// How memory of a device travels between ranks, and why so.
struct Route {
  /// "self", "thread" (ranks read each other's memory), "nccl", "mpi" (the library knows CUDA),
  /// "staged" (through pinned host memory) or "none" (refused).
  std::string name;
  std::string reason;
};

/// A group of ranks that work together: the handle programs hold. Copies share one communicator;
/// one thread at a time may use it on each rank. All ranks make the same collective calls in the
/// same order; WEFT_CHECK=1 (or check_calls) verifies that and names the ranks that differ.
///
/// Memory is anything contiguous: a vector, a span, a Buffer. Parts may be uneven or empty, and
/// `in` and `out` may be the same memory. Memory of a device travels by its route(); calls on it
/// are ordered on this thread's stream and return when they are issued.
class Comm {
 public:
  /// The communicator of this rank alone.
  static Comm self();
  /// Wraps a transport. Collective over its ranks.
  explicit Comm(std::shared_ptr<Transport> transport);

  int rank() const;
  int size() const;
  /// "self", "thread" or "mpi".
  std::string_view transport() const;
  /// The device that layouts on this communicator are made for unless they say otherwise.
  Device device() const;
  /// The same communicator with another default device. Collective for a GPU: decides how memory
  /// of these GPUs, one for each rank, travels from now on. Until then it is staged.
  Comm on(Device device) const;
  /// How memory of a device travels; of GPUs, of the one that on() was told.
  Route route(Device device) const;

  /// A communicator per color >= 0, its ranks ordered by key, then by rank. Ranks that pass a
  /// negative color get one that is not valid().
  Comm split(int color, int key = 0) const;
  Comm dup() const;
  bool valid() const { return state_ != nullptr; }
  /// Handles of the same communicator; those of one rank alone are all the same.
  friend bool operator==(const Comm& a, const Comm& b);

  void barrier() const;
  void broadcast(BufferRef data, int root) const;
  void allreduce(ConstBufferRef in, BufferRef out, ReduceOp op = ReduceOp::sum) const;
  void allreduce(BufferRef data, ReduceOp op = ReduceOp::sum) const { allreduce(data, data, op); }
  /// `out` is only written on the root.
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

  /// Ranks can read each other's memory on this device: read_peers works.
  bool shares_memory(Device device) const;
  /// An all_to_all without copies in between: `reader` is called with the memory that each rank
  /// passes as `mine`, this rank's included. `sent` is what others will read there, and `received`
  /// what this rank reads from them.
  void read_peers(ConstBufferRef mine, const Parts& sent, const Parts& received,
                  PeerReader& reader) const;

  /// The same for a message: begins to wait for the next one of a rank, as long as `like`, and
  /// calls `reader` with its memory. The sender's memory is its own again when its send is
  /// complete.
  Request start_read(BufferRef like, int from, PeerReader& reader) const;

  /// May wait until the receiver has taken the message: two ranks that both send first and receive
  /// afterwards wait for ever (on threads, until the time limit). Use sendrecv or a Group to
  /// exchange.
  void send(ConstBufferRef data, int to) const;
  void recv(BufferRef data, int from) const;
  void sendrecv(ConstBufferRef out, int to, BufferRef in, int from) const;

  /// The same calls, begun now and completed by the Request. Memory and parts must stay as they are
  /// until then. On threads, a ninth collective that is begun waits for the first to be complete;
  /// where calls are checked, each one waits for the others to begin it.
  Request start_barrier() const;
  Request start_broadcast(BufferRef data, int root) const;
  Request start_allreduce(ConstBufferRef in, BufferRef out, ReduceOp op = ReduceOp::sum) const;
  Request start_reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root) const;
  Request start_reduce_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out,
                                 ReduceOp op = ReduceOp::sum) const;
  Request start_all_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts) const;
  Request start_gather_v(ConstBufferRef in, BufferRef out, const Parts& parts, int root) const;
  Request start_scatter_v(ConstBufferRef in, const Parts& parts, BufferRef out, int root) const;
  Request start_all_to_all_v(ConstBufferRef in, const Parts& sent, BufferRef out,
                             const Parts& received) const;
  Request start_send(ConstBufferRef data, int to) const;
  Request start_recv(BufferRef data, int from) const;

  /// Reduces one number: `double total = comm.allreduce(mine, ReduceOp::sum);`
  template <Communicable T>
  T allreduce(T value, ReduceOp op = ReduceOp::sum) const {
    allreduce(BufferRef(&value, 1), op);
    return value;
  }

  /// Makes a local complaint everybody's: if any rank passes a non-empty text, all ranks throw the
  /// same AgreedError, and the communicator remains usable.
  void agree(std::string_view complaint = {}) const;
  /// Throws the same AgreedError on all ranks, which tells what each describes, unless all pass the
  /// same number: a hash of that. Like agree(), it is collective, and not counted by stats().
  void agree_on(std::uint64_t number, const std::function<std::string()>& describe) const;
  /// Gives up: every other rank leaves its calls with an AbortedError that tells the reason.
  void abort(const std::string& reason) const noexcept;

  /// Throws what went wrong in a Request that was destroyed instead of waited for, unless a call
  /// has thrown it since. launch and run_threads do so when the program returns.
  void throw_held_error() const;

  /// What this rank has sent on this communicator so far.
  const Stats& stats() const;
  void reset_stats() const;
  bool checks_calls() const;
  /// Collective: from now on every call is compared between the ranks before it is made.
  void check_calls(bool on) const;

 private:
  Comm(std::shared_ptr<detail::CommState> state, Device device);
  /// Throws if this is not a communicator.
  detail::CommState& state() const;
  friend class MessageBatch;
  void flush() const;
  void verify_all_to_all(ConstBufferRef in, const Parts& sent, const Parts& received) const;
  Request do_barrier(CallMode mode) const;
  Request do_broadcast(BufferRef data, int root, CallMode mode) const;
  Request do_allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) const;
  Request do_reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode mode) const;
  Request do_reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                            CallMode mode) const;
  Request do_all_gather(ConstBufferRef in, BufferRef out, const Parts& parts, CallMode mode) const;
  Request do_gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                    CallMode mode) const;
  Request do_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                     CallMode mode) const;
  Request do_all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                        CallMode mode) const;

  std::shared_ptr<detail::CommState> state_;
  Device device_;
};

}  // namespace weft
