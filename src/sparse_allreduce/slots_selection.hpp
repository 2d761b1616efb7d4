#pragma once

#include "sparse_allreduce/sparse_context.hpp"

namespace weft::detail {

/// Selectors of calls in slots: the numbers of selected elements stay in memory of the device, in
/// context.control, and the host reads nothing. They select the same elements as those of
/// selectors.hpp, with two differences: lists have room for a fixed number of elements, and others
/// stay in the residual; and a threshold of 0 takes all elements other than 0 instead of being
/// searched for again.

/// Like select_elements() in presets.hpp.
void select_in_slots(SparseContext& context);

/// Adds the gradient to the residual without selecting.
void accumulate_in_slots(SparseContext& context);

/// Elements that lists of `ranks` ranks have room for.
index_t room_of_lists(const SparseContext& context, int ranks);

void select_exact_in_slots(SparseContext& context);
void select_reused_in_slots(SparseContext& context);
void select_periodic_in_slots(SparseContext& context);
void select_sampled_in_slots(SparseContext& context);
void select_chunked_in_slots(SparseContext& context);

}  // namespace weft::detail
