#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"

namespace weft::detail {

/// topkA, of whose sums only the k largest are the result. Selected elements that are not in the
/// result return to the residuals.
SparseOutcome run_topka2(SparseContext& context) {
  select_elements(context);
  gather_and_add(context);
  list_largest_sums(context, context.k);
  const kernels::Count kept = context.other.size();
  pack_result(context, context.own_part());
  if (context.in_slots) {
    return_unkept_slots(context, kept);
  } else {
    return_unused(context, kept.most, true);
  }
  return {SparseOutcome::Form::pairs, kept, true};
}

}  // namespace weft::detail
