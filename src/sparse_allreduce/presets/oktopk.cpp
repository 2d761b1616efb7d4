#include "sparse_allreduce/balance.hpp"
#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/global_selection.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft::detail {
namespace {

/// The means over the ranks of the quantiles of the selected indices.
void set_quantile_boundaries(SparseContext& context) {
  const int ranks = context.ranks();
  set_equal_boundaries(context);
  if (ranks == 1) return;
  index_t* quantiles = context.offsets.data();
  run_on(context, [&](auto tag) {
    kernels::index_quantiles(tag, context.types, context.pairs.data(), context.picked.count,
                             context.n, ranks, quantiles);
  });
  const BufferRef sums(quantiles, ranks - 1, context.device());
  context.comm.allreduce(sums);
  context.report.header_words += 2 * (ranks - 1) * (ranks - 1) / ranks;
  index_t* inner = context.state.boundaries.data() + 1;
  copy_bytes(inner, Device::cpu(), quantiles, context.device(),
             static_cast<std::size_t>(ranks - 1) * sizeof(index_t));
  for (int r = 0; r < ranks - 1; ++r) inner[r] /= ranks;
}

void set_regions(SparseContext& context) {
  context.report.new_regions = true;
  switch (context.options.oktopk.partition) {
    case SparsePartition::equal: return set_equal_boundaries(context);
    case SparsePartition::quantile: return set_quantile_boundaries(context);
    case SparsePartition::block_cyclic: return;  // known to all ranks without boundaries
  }
}

void adapt_global_threshold(SparseContext& context, index_t count) {
  const OktopkConstants& c = context.options.oktopk;
  const auto k = static_cast<double>(context.k);
  if (static_cast<double>(count) < c.global_low * k) {
    context.state.global_threshold /= c.global_down;
  } else if (static_cast<double>(count) > c.global_high * k) {
    context.state.global_threshold *= c.global_up;
  }
}

/// Gathers the own sums in context.other; what this rank selected and is not in the result returns
/// to the residual. Returns the number of pairs.
index_t gather_result(SparseContext& context) {
  const index_t total = gather_balanced(context, share_count(context, context.other.count));
  return_unused(context, total, !is_cyclic(context));
  return total;
}

void set_regions_in_slots(SparseContext& context) {
  context.report.new_regions = true;
  switch (context.options.oktopk.partition) {
    case SparsePartition::equal: return set_equal_regions_in_slots(context);
    case SparsePartition::quantile: return set_quantile_regions_in_slots(context);
    case SparsePartition::block_cyclic: return;
  }
}

/// The same steps as run_oktopk() below; all numbers stay on the device.
SparseOutcome run_oktopk_in_slots(SparseContext& context) {
  const OktopkConstants& c = context.options.oktopk;
  select_elements(context);
  pack_picked(context);
  const bool has_regions = !context.state.boundaries.empty();
  if (is_time(context, c.region_period) || !has_regions) set_regions_in_slots(context);
  split_and_add(context);
  const bool exact = is_time(context, c.global_period) || context.state.global_threshold < 0;
  context.report.exact_global = exact;
  SparseControl* control = context.control.data();
  if (exact) {
    find_global_rule_in_slots(context);
    context.state.global_threshold = 0;  // there is one, on the device
  } else {
    const auto k = static_cast<double>(context.k);
    context.adapt_global = {c.global_low * k, c.global_high * k, c.global_down, c.global_up};
  }
  list_sums_in_slots(context, exact ? &control->rule : &control->call.global_rule, true,
                     context.other);
  const kernels::Count total = gather_own_slots(context);
  return {SparseOutcome::Form::pairs, total, !is_cyclic(context)};
}

}  // namespace

/// Owners of regions add up what all ranks have selected there, and send around the sums from a
/// threshold on that about k of all sums reach. Thresholds are exact every so many calls, and
/// adapted to the numbers of elements in between.
SparseOutcome run_oktopk(SparseContext& context) {
  if (context.in_slots) return run_oktopk_in_slots(context);
  const OktopkConstants& c = context.options.oktopk;
  select_elements(context);
  pack_picked(context);
  // There are none yet if "auto" has reduced all elements so far.
  const bool has_regions = !context.state.boundaries.empty();
  if (is_time(context, c.region_period) || !has_regions) set_regions(context);
  split_and_add(context);
  const bool exact = is_time(context, c.global_period) || context.state.global_threshold <= 0;
  context.report.exact_global = exact;
  if (exact) {
    const kernels::SelectionRule rule = find_global_rule(context, context.k);
    context.state.global_threshold = magnitude_of_key(context, rule.key);
    list_own(context, rule);
  } else {
    list_own(context, {key_of(context, context.state.global_threshold)});
  }
  const index_t total = gather_result(context);
  if (!exact) adapt_global_threshold(context, total);
  context.report.global_threshold = context.state.global_threshold;
  return {SparseOutcome::Form::pairs, total, !is_cyclic(context)};
}

}  // namespace weft::detail
