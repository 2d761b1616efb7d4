#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/presets.hpp"

namespace weft::detail {

/// Every rank gathers what all ranks have selected and adds it up.
SparseOutcome run_topka(SparseContext& context) {
  select_elements(context);
  gather_and_add(context);
  return {SparseOutcome::Form::sums};
}

}  // namespace weft::detail
