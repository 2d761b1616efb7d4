#pragma once

#include "sparse_allreduce/sparse_context.hpp"

namespace weft::detail {

/// The rule that takes the k largest of the sums of all owners, ties by the lower index, on all
/// ranks: radix selection on histograms that the ranks add up. Nothing is gathered.
kernels::SelectionRule find_global_rule(SparseContext& context, index_t k);

/// The same of calls in slots, without the host: the rule stays in context.control, and its
/// threshold becomes the global one on the device.
void find_global_rule_in_slots(SparseContext& context);

}  // namespace weft::detail
