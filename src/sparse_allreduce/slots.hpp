#pragma once

#include "sparse_allreduce/sparse_context.hpp"

namespace weft::detail {

/// The exchanges of exchange.hpp in slots of fixed capacity, whose numbers of pairs the host need
/// not know. What does not fit stays in the residual.
bool uses_slots(const SparseContext& context);

/// context.sum = sums of what all ranks have picked and slots have room for.
void gather_and_add_slots(SparseContext& context);
/// Sends the packed pairs to the owners of their regions, who add them up.
void split_and_add_slots(SparseContext& context);
/// The own sums in context.other go to all ranks, as pairs in context.gathered; what is sent to
/// owners and not among them returns to the residual. Returns how many pairs there are.
index_t gather_own_slots(SparseContext& context);

}  // namespace weft::detail
