#pragma once

#include <weft/comm/reduce_op.hpp>
#include <weft/core/device.hpp>
#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// How indices are divided among the ranks that add up their values.
enum class SparsePartition : std::uint8_t {
  /// n/P consecutive indices each.
  equal,
  /// Boundaries are the means over the ranks of the quantiles of their selected indices.
  quantile,
  /// Blocks of `block` consecutive indices in turn.
  block_cyclic,
};

/// Whether ranks even out the numbers of pairs that they hold before the final gather.
enum class SparseBalance : std::uint8_t { off, on, by_imbalance };

/// How many pairs a message holds.
enum class SparseExchange : std::uint8_t {
  /// exact.
  automatic,
  /// As many as were selected. The host reads the counts.
  exact,
  /// Slots of fixed capacity with the count in a header; what does not fit stays in the residual.
  /// The host reads nothing, so that calls can be captured in graphs.
  slots,
};

/// What gTop-k does with values that a merge drops.
enum class GtopkResidual : std::uint8_t {
  /// They move to the residual of the rank that drops them.
  transfer,
  /// The published rule: every rank keeps what is not in the final set. Loses gradient that is
  /// dropped in one branch of the tree and kept in another.
  classic,
};

/// The constants of Ok-Topk. Periods are in calls; bounds are multiples of k.
struct OktopkConstants {
  index_t local_period = 32;
  index_t global_period = 32;
  index_t region_period = 64;
  /// Before a selection: while more than raise_above * k are selected, at most raise_steps times,
  /// the local threshold is multiplied by raise_factor.
  int raise_steps = 5;
  double raise_above = 4.0 / 3;
  double raise_factor = 1.03;
  /// After a selection of fewer than low * k or more than high * k, thresholds change.
  double local_low = 2.0 / 3;
  double local_high = 5.0 / 4;
  double local_factor = 1.012;
  double global_low = 2.0 / 3;
  double global_high = 4.0 / 3;
  double global_down = 1.008;
  double global_up = 1.008;
  SparsePartition partition = SparsePartition::quantile;
  /// Of SparsePartition::block_cyclic.
  index_t block = 1024;
  SparseBalance balance = SparseBalance::off;
  /// SparseBalance::by_imbalance balances if the largest count exceeds the mean by this factor.
  double imbalance = 4;

  /// The constants with which the three models of the paper were trained.
  static OktopkConstants vgg() { return {}; }
  static OktopkConstants lstm();
  static OktopkConstants bert();
};

/// Seconds, by which "auto" chooses between "oktopk" and "dense".
struct SparseCosts {
  double message = 5e-6;
  /// Per byte sent to another rank and per byte that a selection reads or writes.
  double byte = 1e-9;
  double selected_byte = 1e-10;
};

struct SparseOptions {
  /// One of sparse_algorithms().
  std::string algorithm = "oktopk";
  /// k = max(1, density * n) elements are to be selected. In (0, 1]; the same on all ranks.
  double density = 0.01;
  /// Of gradients and results: f16, bf16, f32 or f64. Residuals of 16-bit gradients are f32.
  DType dtype = DType::f32;
  Device device = Device::cpu();
  /// avg or sum.
  ReduceOp op = ReduceOp::avg;
  /// One of sparse_selectors(), or empty for that of the algorithm.
  std::string selector;
  /// Elements per chunk of the selector "chunked".
  index_t chunk = 4096;
  SparseExchange exchange = SparseExchange::automatic;
  /// Pairs per slot; 0: 1.5 k/P per peer.
  index_t capacity = 0;
  /// In slots on other devices than the CPU: the host waits in every check_every-th call, and
  /// throws if a gradient was not finite; 0: only in SparseAllreduce::report().
  index_t check_every = 0;
  /// The first calls reduce all elements and leave the residual alone.
  index_t dense_calls = 0;
  /// The residual of the call before is multiplied by this.
  double decay = 1;
  /// Without it, what is not sent is lost.
  bool error_feedback = true;
  /// 32, 64, or 0 for the smallest that can hold n.
  int index_bits = 0;
  /// The host waits for the device after every phase of a call, so that the times of the report are
  /// those of the device.
  bool time_phases = false;
  OktopkConstants oktopk;
  GtopkResidual gtopk = GtopkResidual::transfer;
  SparseCosts costs;
};

/// The names of the algorithms and of the selectors.
std::vector<std::string> sparse_algorithms();
std::vector<std::string> sparse_selectors();

}  // namespace weft
