#pragma once

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_options.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace weft {

/// Seconds that the phases of a call took. On a GPU the phases are issued, not waited for, unless
/// SparseOptions::time_phases.
struct SparseTimes {
  double select = 0;    // of the gradient, with error feedback
  double split = 0;     // messages to the owners of regions, or in the tree of gtopk
  double reduce = 0;    // additions
  double reselect = 0;  // among the sums
  double gather = 0;    // messages with the result
  double scatter = 0;   // the result in its array, and what returns to the residual
};

/// What the last call of a SparseAllreduce did on this rank. A word is an index or a value.
struct SparseReport {
  /// The algorithm that ran: "dense" in the first calls and where "auto" chooses it.
  std::string algorithm;
  index_t call = 0;
  index_t k = 0;
  /// Pairs that this rank selected and pairs of the result.
  index_t selected = 0;
  index_t result = 0;
  /// Elements that were selected and did not fit into slots, or into the lists before them.
  index_t overflow = 0;
  /// From which magnitude on the next call selects, before and after the sum, if it does not look
  /// for a new threshold; 0 for algorithms without thresholds.
  double local_threshold = 0;
  double global_threshold = 0;
  /// Words of indices and values: sent to owners (split), received from the owners or all ranks
  /// (gather), sent to even out (balance), and of an allreduce of all elements (dense), which
  /// counts as 2n(P-1)/P. Padding of slots is counted apart.
  index_t split_words = 0;
  index_t gather_words = 0;
  index_t balance_words = 0;
  index_t dense_words = 0;
  index_t padding_words = 0;
  /// Words of counts, boundaries and histograms.
  index_t header_words = 0;
  /// Times that the host waited for counts, thresholds and flags in the call.
  index_t host_waits = 0;
  /// Elements of the gradient that were not finite, and were dropped.
  index_t dropped = 0;
  /// Whether this call searched for the local and the global threshold, and set new regions.
  bool exact_local = false;
  bool exact_global = false;
  bool new_regions = false;
  /// Pairs per slot of the last exchange; 0 without slots.
  index_t capacity = 0;
  SparseTimes times;

  index_t words() const { return split_words + gather_words + balance_words + dense_words; }
};

/// The sum or average of run_sparse: `count` pairs in memory of the device, sorted by index. Valid
/// until the next call.
struct SparseResult {
  /// u32 or u64.
  ConstBufferRef indices;
  ConstBufferRef values;
  /// One i64: how many of the pairs are used.
  ConstBufferRef count;
};

namespace detail {
class SparseEngine;
}

/// Adds up gradients over the ranks of a communicator, of which only the largest elements travel.
/// What is not sent stays in the residual of this object and is added to the next gradient (error
/// feedback): with op sum, gradients and residuals before = result + residuals after, summed over
/// the ranks, except for the rounding of additions.
///
/// One object per tensor. All functions that are not const are collective, and arguments must be
/// the same on all ranks; a rank's error is thrown on all of them and leaves the state as it was.
class SparseAllreduce {
 public:
  /// For gradients of n elements.
  SparseAllreduce(const Comm& comm, index_t n, const SparseOptions& options);
  SparseAllreduce(SparseAllreduce&&) noexcept;
  SparseAllreduce& operator=(SparseAllreduce&&) noexcept;
  ~SparseAllreduce();

  /// Bytes on the device that an object with these arguments takes. Where counts are exact, a call
  /// that selects more than k needs more.
  static index_t workspace_bytes(int ranks, index_t n, const SparseOptions& options);

  /// All n elements of the sum or average; `result` may be `gradient`. If any gradient has a NaN or
  /// an infinity, all ranks throw, `result` is not written, and the finite elements are kept in the
  /// residuals. In slots on other devices than the CPU, `result` is 0, and report() throws the
  /// error or, on all ranks, the next call that SparseOptions::check_every divides.
  void run(ConstBufferRef gradient, BufferRef result);
  SparseResult run_sparse(ConstBufferRef gradient);

  /// For the calls from now on.
  void set_density(double density);
  double density() const;

  /// Of the last call; not collective. In slots on other devices than the CPU, it waits for the
  /// device, and throws if a call since the last check was refused: then the next report() returns.
  const SparseReport& report() const;
  /// A copy of the residual: f32, or f64 for f64.
  void read_residual(BufferRef out) const;

  /// The state of this rank, after all calls, also of graphs. Loading it on the same number of
  /// ranks, in an object with the same arguments, and going on gives the same bits as never having
  /// stopped.
  std::vector<std::byte> save() const;
  void load(const std::vector<std::byte>& state);
  /// As after construction.
  void reset();
  /// Moves the state to memory of another device.
  void to(Device device);

 private:
  std::unique_ptr<detail::SparseEngine> engine_;
};

}  // namespace weft
