#pragma once

#include "sparse_allreduce/sparse_context.hpp"

#include <string>
#include <vector>

namespace weft::detail {

/// How many elements each rank has selected. If any rank has met elements that are not finite, all
/// ranks put back what they selected and throw the same error.
std::vector<index_t> share_selected(SparseContext& context);

/// Puts back what was selected and throws the same error on all ranks.
[[noreturn]] void refuse_call(SparseContext& context, index_t rank, index_t element);

/// Makes pairs of context.picked, in context.pairs. What rounding takes from values goes to the
/// residual; if the call is refused later, the residual gets back the values before rounding.
void pack_picked(SparseContext& context);

/// The packing of all of a list; where to is left open.
kernels::Packing packing_of(SparseContext& context, const ListMemory& list);

/// The pairs of all ranks in the order of ranks, in context.gathered; counts[r] from rank r.
/// Returns how many.
index_t gather_pairs(SparseContext& context, const void* mine, const std::vector<index_t>& counts);

/// context.sum = sums over the ranks of all picked values, source by source in the order of ranks.
void gather_and_add(SparseContext& context);

/// Sends the packed pairs to the owners of their regions, who add them up, source by source in the
/// order of ranks, in their part of context.sum. Boundaries are in context.state.
void split_and_add(SparseContext& context);

/// The packed pairs in the order of their owners; the parts begin at context.offsets.
const void* sort_by_owner(SparseContext& context);

/// Elements of context.sum that this rank owns.
kernels::Candidates own_sums(const SparseContext& context);
index_t own_begin(const SparseContext& context);

/// Lists in context.other what `rule` takes of the rank's own sums that anything was added to.
void list_own(SparseContext& context, const kernels::SelectionRule& rule);

/// Lists the k largest elements of context.sum that anything was added to in context.other.
void list_largest_sums(SparseContext& context, index_t k);
/// Packs a list of sums, divided. What rounding takes from elements in `kept` goes to the residual.
void* pack_sums(SparseContext& context, const ListMemory& sums, Scratch& memory, double divisor,
                kernels::IndexRange kept);
/// The same of context.other, as the result.
void pack_result(SparseContext& context, kernels::IndexRange kept);
/// Sorted pairs of the sums that anything was added to, in context.sorted; returns how many.
index_t list_touched_sums(SparseContext& context, double divisor);

/// The numbers of all ranks.
std::vector<index_t> share_count(SparseContext& context, index_t mine);
/// Packs context.other, divided, as the rank's part of the result.
void* pack_own(SparseContext& context);
/// The parts of all ranks, which have `counts` pairs, in context.gathered. Returns how many pairs
/// there are.
index_t gather_own(SparseContext& context, const std::vector<index_t>& counts);

/// The text of the error of a call that is refused.
std::string refusal_text(index_t rank, index_t element);

/// Puts back into the residual what this rank picked and is not among the `count` pairs of
/// context.gathered.
void return_unused(SparseContext& context, index_t count, bool sorted);

/// Boundaries of parts of n / P elements.
void set_equal_boundaries(SparseContext& context);
/// Copies the boundaries to the device.
void write_boundaries(SparseContext& context);
bool is_cyclic(const SparseContext& context);

}  // namespace weft::detail
