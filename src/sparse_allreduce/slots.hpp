#pragma once

#include "sparse_allreduce/sparse_context.hpp"

namespace weft::detail {

/// The exchanges of exchange.hpp in slots of fixed capacity, whose numbers of pairs the host need
/// not know. What does not fit stays in the residual. Nothing is read by the host, and memory is
/// allocated by the first calls only.

/// Pairs per slot, where `shares` slots share k pairs: by default 1.5 times as many.
index_t slot_capacity(const SparseContext& context, int shares);

/// Memory for lists; clears what the device keeps of the call before.
void begin_slots(SparseContext& context);
/// Puts everything back into the residual if the call is refused. Afterwards, the device has made
/// one call more.
void end_slots(SparseContext& context, const kernels::Count& result);

/// Not 0, in memory of the device, if a gradient has an element that is not finite. Then the call
/// goes on, but changes no residual by rounding.
const index_t* refused_in_slots(const SparseContext& context);

/// Ranks tell each other whether their gradients have elements that are not finite.
void share_flags_in_slots(SparseContext& context);

/// context.sum = sums of what all ranks have picked and slots have room for.
void gather_and_add_slots(SparseContext& context);
/// Puts back into the residual what it has sent of this rank's and is not among the `kept` pairs of
/// context.gathered.
void return_unkept_slots(SparseContext& context, kernels::Count kept);
/// How many sums it may have made.
index_t most_sums_in_slots(const SparseContext& context);

/// Sends the packed pairs to the owners of their regions, who add them up.
void split_and_add_slots(SparseContext& context);
/// The own sums in context.other go to all ranks, as pairs in context.gathered; what is sent to
/// owners and not among them returns to the residual. Returns how many pairs there are.
kernels::Count gather_own_slots(SparseContext& context);

/// The sums of slots: those that this rank owns, or all.
kernels::Candidates sums_in_slots(const SparseContext& context, bool own);

/// Regions of n / P elements, or with boundaries that are the means of quantiles.
void set_equal_regions_in_slots(SparseContext& context);
void set_quantile_regions_in_slots(SparseContext& context);

/// Sorted pairs of the sums that anything was added to, at most `most`, in context.sorted.
kernels::Count list_touched_in_slots(SparseContext& context, index_t most);

/// Lists in `memory` what a rule on the device takes of sums: the own ones, or all.
void list_sums_in_slots(SparseContext& context, const kernels::SelectionRule* rule, bool own,
                        ListMemory& memory);
/// The same with a rule of the host.
void list_sums_in_slots(SparseContext& context, const kernels::SelectionRule& rule, bool own,
                        ListMemory& memory);

}  // namespace weft::detail
