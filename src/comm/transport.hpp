#pragma once

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/parts.hpp>
#include <weft/comm/reduce_op.hpp>
#include <weft/comm/stats.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/epilogue.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weft::detail {

class MemoryRegistration;
class PeerReader;

/// A blocking call returns when it is complete, a nonblocking one at once with a ticket.
enum class CallMode : std::uint8_t { blocking, nonblocking };

/// Identifies a call in progress within its transport. A default ticket is complete.
struct Ticket {
  std::int32_t kind = 0;
  std::int32_t peer = 0;
  std::uint64_t id = 0;
};

/// The interface of a communication backend. Comm has checked the arguments: counts and parts fit,
/// roots exist, the op suits the dtype and is not `avg` (see averages()), and accepts() is true for
/// all memory.
/// `in` and `out` are disjoint, or the same memory (all_gather and gather: `in` is this rank's part
/// of `out`; scatter and reduce_scatter: `out` is this rank's part of `in`; not in all_to_all).
/// Collective calls match between ranks by their order, messages by their order between two ranks.
/// Calls on GPU memory are ordered on this thread's stream: a blocking call returns when it is
/// issued, and waiting for a ticket makes the stream wait, not the host.
/// Memory and parts of a nonblocking call must not change until its ticket is complete.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual std::string_view name() const = 0;
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// At least as many ranks as the job has, of which this transport connects some. The same on all
  /// ranks.
  virtual int job_size() const { return size(); }
  virtual bool accepts(Device device) const = 0;
  /// Of memory it accepts, a transport may leave some calls to another.
  virtual bool takes(CallKind, DType, ReduceOp, CallMode) const { return true; }
  /// Takes a call on GPU memory, of so many bytes, that this transport leaves; null if it is to be
  /// staged.
  virtual Transport* substitute(CallKind, index_t /*bytes*/) { return nullptr; }
  /// Calls of this kind take ReduceOp::avg: the bits are those of a sum and a division.
  virtual bool averages(CallKind, DType) const { return false; }
  /// False if calls access GPU memory without regard to streams.
  virtual bool ordered_on_stream() const { return true; }

  /// A transport among the ranks that pass the same color, ordered by key, then by rank; null for a
  /// negative color.
  virtual std::shared_ptr<Transport> split(int color, int key) = 0;

  virtual Ticket barrier(CallMode mode) = 0;
  /// The root's data is only read.
  virtual Ticket broadcast(BufferRef data, int root, CallMode mode) = 0;
  virtual Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) = 0;
  /// Blocking sum, followed by the epilogue, with the bits of the two steps apart. False, on all
  /// ranks and with nothing done, if the transport has no faster way than them.
  virtual bool allreduce_then(ConstBufferRef, BufferRef, const Epilogue&) { return false; }
  virtual Ticket reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode mode) = 0;
  virtual Ticket reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                                CallMode mode) = 0;
  virtual Ticket all_gather(ConstBufferRef in, BufferRef out, const Parts& parts,
                            CallMode mode) = 0;
  virtual Ticket gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                        CallMode mode) = 0;
  virtual Ticket scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                         CallMode mode) = 0;
  virtual Ticket all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out,
                            const Parts& received, CallMode mode) = 0;
  /// Ranks can read each other's memory: read_peers and read work.
  virtual bool shares_memory() const { return false; }
  /// Collective: calls reader.read(peer, that rank's `mine.data`) for all ranks. No rank returns
  /// before all have read.
  virtual void read_peers(ConstBufferRef mine, PeerReader& reader);
  /// Receives the next message of a rank, of the size of `like`, by reader.read(from, its memory).
  virtual Ticket read(BufferRef like, int from, PeerReader& reader);
  virtual Ticket send(ConstBufferRef data, int to) = 0;
  virtual Ticket recv(BufferRef data, int from) = 0;
  /// Issues the messages that the transport has collected to issue them together, without order or
  /// deadlock between them. Waiting for one of them does so, too.
  virtual void flush() {}

  /// True if the call is complete. Progresses all calls of this rank.
  virtual bool test(const Ticket& ticket) = 0;
  virtual void wait(const Ticket& ticket) = 0;
  /// Drops a call while an exception propagates: this rank will not do its share of it. Afterwards
  /// the call does not access the caller's memory.
  virtual void abandon(const Ticket& ticket) noexcept = 0;

  /// Lets other ranks access this memory in later calls, or new memory. Collective. Null if the
  /// transport makes no use of it; the same on all ranks.
  virtual std::unique_ptr<MemoryRegistration> register_memory(BufferRef memory);
  virtual std::unique_ptr<MemoryRegistration> allocate_registered(index_t bytes);

  /// Throws if a rank is known to have failed.
  virtual void throw_if_failed() {}
  /// The same without consequences; false if the transport cannot tell.
  virtual bool has_failed() const { return false; }
  /// Makes the current and later calls of every rank throw an AbortedError that names this rank and
  /// the reason; or ends the job with that message if the backend cannot do that.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// The same for a failure of another rank, which cannot tell.
  virtual void abort_for(int, const std::string& reason) noexcept { abort(reason); }

  /// The ranks for which allreduces follow the table; none if the transport has one way only.
  /// Collective.
  virtual std::optional<AllreduceTeam> allreduce_team() { return std::nullopt; }
  /// Replaces the table for later allreduces of this transport. Collective, with equal tables.
  virtual void use_table(const std::shared_ptr<const AllreduceTable>&) {}

  // For a transport that wraps this one
  /// This rank begins a collective call outside of this transport and may wait in it.
  virtual void enter_elsewhere(CallKind) {}
  virtual void leave_elsewhere() noexcept {}
  /// Lets calls of other ranks that involve this one go on while it waits elsewhere.
  virtual void progress() {}
  /// The transport that makes the errors.
  virtual Transport& innermost() { return *this; }

  /// For its lifetime, errors name `call` instead of the transport calls it consists of. The
  /// outermost scope counts.
  class CallScope {
   public:
    CallScope(Transport& transport, const char* call)
        : transport_(transport.innermost()), before_(transport_.outer_call_) {
      if (before_ == nullptr) transport_.outer_call_ = call;
    }
    ~CallScope() { transport_.outer_call_ = before_; }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

   private:
    Transport& transport_;
    const char* before_;
  };

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}
  /// The name given by the outermost CallScope; null without one.
  const char* outer_call() const { return outer_call_; }

 private:
  int rank_;
  int size_;
  const char* outer_call_ = nullptr;
};

/// A collective call outside of a transport, for the lifetime of the object.
class CollectiveElsewhere {
 public:
  CollectiveElsewhere(Transport& transport, CallKind kind) : transport_(transport) {
    transport_.enter_elsewhere(kind);
  }
  ~CollectiveElsewhere() { transport_.leave_elsewhere(); }
  CollectiveElsewhere(const CollectiveElsewhere&) = delete;
  CollectiveElsewhere& operator=(const CollectiveElsewhere&) = delete;

 private:
  Transport& transport_;
};

}  // namespace weft::detail
