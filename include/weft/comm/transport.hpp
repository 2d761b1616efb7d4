#pragma once

#include <weft/comm/buffer_ref.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// `avg` is the sum, in the elements' type, divided by the number of ranks.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, bit_and, bit_or, bit_xor, avg };

std::string_view to_string(ReduceOp op);
/// Complex numbers have no order, bits belong to integers, averages to floating-point numbers.
bool has_op(DType dtype, ReduceOp op);

/// How a buffer divides into one part per rank; parts may be empty.
class Parts {
 public:
  Parts() = default;
  /// Parts of these lengths, one after the other.
  explicit Parts(std::vector<index_t> counts);
  /// Parts anywhere in the buffer.
  Parts(std::vector<index_t> counts, std::vector<index_t> offsets);
  /// `ranks` parts of the same length, one after the other. Reuses memory when assigned into.
  void make_even(int ranks, index_t count);

  int ranks() const { return static_cast<int>(counts_.size()); }
  index_t count(int rank) const { return counts_[static_cast<std::size_t>(rank)]; }
  index_t offset(int rank) const { return offsets_[static_cast<std::size_t>(rank)]; }
  /// All parts have the same length and follow one another.
  bool even() const { return even_; }
  /// The buffer must have at least this many elements.
  index_t extent() const { return extent_; }

 private:
  void summarize();

  std::vector<index_t> counts_;
  std::vector<index_t> offsets_;
  index_t extent_ = 0;
  bool even_ = true;
};

/// Whether a call returns when it is complete, or at once with a ticket to wait for.
enum class CallMode : std::uint8_t { blocking, nonblocking };

/// Names a call in progress within its transport. A default ticket is complete.
struct Ticket {
  std::int32_t kind = 0;
  std::int32_t peer = 0;
  std::uint64_t id = 0;
};

/// Takes what it needs straight out of the memory of another rank of the same process.
class PeerReader {
 public:
  virtual void read(int peer, const void* memory) = 0;

 protected:
  ~PeerReader() = default;
};

/// What a communication backend implements. Arguments have been checked by Comm: counts and parts
/// fit, roots exist, the op suits the dtype and is not `avg`, `accepts` is true for all memory.
/// `in` and `out` are either apart, or the same memory (for all_gather and gather: `in` is this
/// rank's part of `out`; for reduce_scatter: `out` is this rank's part of `in`).
/// Calls are matched between ranks by their order; between a pair of ranks, so are messages.
/// Calls on GPU memory are ordered on this thread's stream: When::now returns when they are issued,
/// and waiting for a ticket makes the stream wait, not the host.
/// With When::later, the caller keeps memory and parts as they are until the ticket is complete.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual std::string_view name() const = 0;
  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual bool accepts(Device device) const = 0;
  /// False where GPU memory is read and written by the host's calls, past its streams.
  virtual bool ordered_on_stream() const { return true; }

  /// A transport among the ranks that pass the same color, ordered by key, then by rank; null for
  /// those that pass a negative one.
  virtual std::shared_ptr<Transport> split(int color, int key) = 0;

  virtual Ticket barrier(CallMode mode) = 0;
  virtual Ticket broadcast(BufferRef data, int root, CallMode mode) = 0;
  virtual Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) = 0;
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
  /// Ranks can read each other's memory: read_peers works.
  virtual bool shares_memory() const { return false; }
  /// Collective: calls reader.read(peer, data of that rank's `mine`) for all ranks, while no rank
  /// changes its memory.
  virtual void read_peers(ConstBufferRef mine, PeerReader& reader);
  /// Takes the next message of a rank, as long as `like`, by reader.read(from, its memory).
  virtual Ticket read(BufferRef like, int from, PeerReader& reader);
  virtual Ticket send(ConstBufferRef data, int to) = 0;
  virtual Ticket recv(BufferRef data, int from) = 0;
  /// Begins messages that were held back, so that they could be exchanged together, without order
  /// or deadlock between them. Waiting for one of them does that too.
  virtual void flush() {}

  /// True when the call is complete. Makes progress on all calls of this rank.
  virtual bool test(const Ticket& ticket) = 0;
  virtual void wait(const Ticket& ticket) = 0;
  /// Lets go of a call because an error is on its way: this rank will not do its part in what its
  /// peers wait for. Afterwards the call does not touch the caller's memory.
  virtual void abandon(const Ticket& ticket) noexcept = 0;

  /// Throws if it is known that a rank has failed.
  virtual void leave_if_failed() {}
  /// Makes every rank leave its calls, present and future, with an AbortedError that names this
  /// rank and the reason; or, where the backend cannot, ends the job with that message.
  virtual void abort(const std::string& reason) noexcept = 0;

  /// While it lives, errors speak of `call`, unless that is itself a step of another one: calls
  /// made on the transport are only steps of it.
  class Step {
   public:
    Step(Transport& transport, const char* call)
        : transport_(transport), before_(transport.step_of_) {
      if (before_ == nullptr) transport.step_of_ = call;
    }
    ~Step() { transport_.step_of_ = before_; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Transport& transport_;
    const char* before_;
  };

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}
  /// Null unless there is a Step.
  const char* step_of() const { return step_of_; }

 private:
  int rank_;
  int size_;
  const char* step_of_ = nullptr;
};

}  // namespace weft
