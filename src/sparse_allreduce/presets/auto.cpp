#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"
#include "sparse_allreduce/slots_selection.hpp"

#include <cmath>

namespace weft::detail {
namespace {

/// The time of a call by the model of SparseCosts.
double oktopk_seconds(const SparseContext& context) {
  const SparseCosts& costs = context.options.costs;
  const double ranks = context.ranks();
  const double messages = 2 * ranks + 2 * std::log2(ranks);
  // 6 k (P - 1) / P words: 3 k (P - 1) / P pairs.
  const double pairs = 3 * static_cast<double>(context.k) * (ranks - 1) / ranks;
  const auto selected = static_cast<double>(3 * context.n * context.work_bytes());
  return costs.message * messages +
         costs.byte * pairs * static_cast<double>(context.types.bytes()) +
         costs.selected_byte * selected;
}

double dense_seconds(const SparseContext& context) {
  const SparseCosts& costs = context.options.costs;
  const double ranks = context.ranks();
  const auto bytes = static_cast<double>(context.n * context.work_bytes());
  return costs.message * 2 * std::log2(ranks) + costs.byte * 2 * bytes * (ranks - 1) / ranks;
}

/// An allreduce of gradients and residuals, which leaves residuals of 0. In the type of sums.
SparseOutcome run_folded(SparseContext& context) {
  if (context.in_slots) {
    accumulate_in_slots(context);
    share_flags_in_slots(context);
  } else {
    accumulate_only(context);
    share_selected(context);
  }
  const ConstBufferRef residual(context.state.residual.data(), context.n, context.types.work(),
                                context.device());
  {
    const PhaseTimer timer(context, gather_phase);
    context.comm.allreduce(
        residual, BufferRef(context.sum.data(), context.n, context.types.work(), context.device()));
  }
  context.report.dense_words += 2 * context.n * (context.ranks() - 1) / context.ranks();
  context.report.algorithm = "dense";
  if (context.in_slots) {
    run_on(context, [&](auto tag) {
      kernels::clear_unless(tag, context.types.work(), context.n, refused_in_slots(context),
                            context.state.residual.data());
    });
    return {SparseOutcome::Form::sums, context.n};
  }
  run_on(context, [&](auto tag) {
    kernels::clear(tag, context.types.work(), context.n, context.state.residual.data());
  });
  return {SparseOutcome::Form::sums};
}

}  // namespace

bool auto_is_dense(const SparseContext& context) {
  return dense_seconds(context) <= oktopk_seconds(context);
}

/// oktopk, or a dense allreduce where that is predicted to be faster.
SparseOutcome run_auto(SparseContext& context) {
  if (auto_is_dense(context)) return run_folded(context);
  context.report.algorithm = "oktopk";
  return run_oktopk(context);
}

}  // namespace weft::detail
