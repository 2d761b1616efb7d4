#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"

namespace weft::detail {

/// Every rank gathers what all ranks have selected and adds it up.
SparseOutcome run_topka(SparseContext& context) {
  select_elements(context);
  gather_and_add(context);
  return {SparseOutcome::Form::sums, context.in_slots ? most_sums_in_slots(context) : 0};
}

}  // namespace weft::detail
