#include "sparse_allreduce/presets.hpp"

namespace weft::detail {

/// An allreduce of all elements. Residuals stay as they are.
SparseOutcome run_dense(SparseContext& context) {
  const index_t ranks = context.ranks();
  context.comm.allreduce(context.gradient, context.out, context.options.op);
  context.report.dense_words += 2 * context.n * (ranks - 1) / ranks;
  return {SparseOutcome::Form::values};
}

}  // namespace weft::detail
