#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/presets.hpp"

namespace weft::detail {

/// topkA, of whose sums only the k largest are the result. Selected elements that are not in the
/// result return to the residuals.
SparseOutcome run_topka2(SparseContext& context) {
  select_elements(context);
  gather_and_add(context);
  list_largest_sums(context, context.k);
  const index_t kept = context.other.count;
  pack_result(context, context.own_part());
  return_unused(context, kept, true);
  return {SparseOutcome::Form::pairs, kept, true};
}

}  // namespace weft::detail
