#pragma once

#include "sparse_allreduce/sparse_context.hpp"

namespace weft::detail {

/// The rule that takes the k largest of the sums of all owners, ties by the lower index, on all
/// ranks: radix selection on histograms that the ranks add up. Nothing is gathered.
kernels::SelectionRule find_global_rule(SparseContext& context, index_t k);

}  // namespace weft::detail
