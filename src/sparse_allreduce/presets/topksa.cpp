#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

namespace weft::detail {
namespace {

/// The elements of all regions, whatever their values.
void gather_regions(SparseContext& context) {
  std::vector<index_t> counts(static_cast<std::size_t>(context.ranks()));
  for (std::size_t r = 0; r < counts.size(); ++r) {
    counts[r] = context.state.boundaries[r + 1] - context.state.boundaries[r];
  }
  const Parts parts(counts);
  const int rank = context.comm.rank();
  const kernels::Candidates own = own_sums(context);
  const index_t begin = own_begin(context);
  void* mine = context.mine.bytes(own.n.most * size_of(context.types.value), context.device());
  {
    const PhaseTimer timer(context, reduce_phase);
    void* residual = context.state.residual.data() + begin * context.work_bytes();
    run_on(context, [&](auto tag) {
      kernels::store_sums(tag, context.types, own.n.most, own.value, context.divisor(),
                          {0, own.n.most}, residual, mine);
    });
  }
  const PhaseTimer timer(context, gather_phase);
  context.comm.all_gather_v({mine, own.n.most, context.types.value, context.device()}, context.out,
                            parts);
  context.report.gather_words += context.n - parts.count(rank);
}

}  // namespace

/// Owners of equal regions add up what all ranks have selected there. Then all ranks gather the
/// sums, or all elements of the regions if pairs would take more words.
SparseOutcome run_topksa(SparseContext& context) {
  if (context.in_slots) {
    set_equal_regions_in_slots(context);
  } else {
    set_equal_boundaries(context);
  }
  select_elements(context);
  pack_picked(context);
  split_and_add(context);
  list_own(context, {});
  if (context.in_slots) {
    return {SparseOutcome::Form::pairs, gather_own_slots(context), true};
  }
  const std::vector<index_t> counts = share_count(context, context.other.count);
  const index_t total = std::accumulate(counts.begin(), counts.end(), index_t{0});
  if (2 * total >= context.n) {
    gather_regions(context);
    return {SparseOutcome::Form::values};
  }
  return {SparseOutcome::Form::pairs, gather_own(context, counts), true};
}

}  // namespace weft::detail
