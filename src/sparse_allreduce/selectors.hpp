#pragma once

#include "sparse_allreduce/sparse_context.hpp"

#include <string>

namespace weft::detail {

/// A rule that chooses elements of residual + gradient.
struct SparseSelector {
  const char* name;
  /// Adds the gradient to the residual and moves the selected elements to context.picked.
  void (*select)(SparseContext& context);
  /// The same without the host, as in slots_selection.hpp; null if the host has to read.
  void (*select_in_slots)(SparseContext& context);
};

/// Throws if there is none of this name.
const SparseSelector& find_selector(const std::string& name);

/// Exactly the k largest; of equal ones those with the lower index.
void select_exact(SparseContext& context);
/// All from the threshold of an exact selection, which is repeated every oktopk.local_period calls
/// and adapted in between.
void select_reused(SparseContext& context);
/// The same without adaptation.
void select_periodic(SparseContext& context);
/// All from the threshold that k elements of a normal distribution would reach.
void select_gaussian(SparseContext& context);
/// All from the threshold of a sample.
void select_sampled(SparseContext& context);
/// The largest elements of every chunk of options.chunk elements.
void select_chunked(SparseContext& context);

/// Whether estimates by samples are good enough for this number of elements.
bool is_sampled(const SparseContext& context);
/// The same for an exact selection of the k largest.
bool can_sample(const SparseContext& context, index_t k);
/// The rule of a magnitude that about `wanted` elements of residual + gradient reach, in
/// context.control.
void find_sampled_rule(SparseContext& context, double wanted);
/// A magnitude that about `wanted` elements of residual + gradient reach; 0 for small tensors.
double sampled_threshold(SparseContext& context, double wanted);
/// Takes what is in the residual and reaches the threshold.
void take_from(SparseContext& context, double threshold);
/// How many elements of the residual reach the threshold.
index_t count_from(SparseContext& context, double threshold);
/// The least magnitude above 0: selections by threshold leave zeros out.
double least_magnitude(const SparseContext& context);
/// Of sparse calls since the first one, or since reset().
index_t sparse_calls(const SparseContext& context);
/// Whether something that is done every `period` sparse calls is due in this one.
bool is_time(const SparseContext& context, index_t period);

/// Adds the gradient to the residual and stages what a rule on the device takes.
void accumulate_by_rule(SparseContext& context, const kernels::SelectionRule* rule, bool take);
kernels::Staging staging_of(SparseContext& context);
/// Moves the largest elements of every chunk from the residual to context.picked.
void take_chunks(SparseContext& context);

/// Adds the gradient to the residual and, if `take`, moves elements of at least this magnitude to
/// context.picked; otherwise they are also left. Returns how many there are; if they are more than
/// `most`, they are not listed and stay in the residual.
index_t accumulate_and_list(SparseContext& context, double threshold, bool take, index_t most);

/// Adds the gradient to the residual without selecting.
void accumulate_only(SparseContext& context);

/// Moves the k largest elements of the residual to context.picked. The rule is in context.control.
void take_largest(SparseContext& context, index_t k);

/// Of context.picked, whose elements are also in the residual, the k largest remain and become 0 in
/// the residual.
void keep_largest_picked(SparseContext& context, index_t k);

/// The k-th largest magnitude that the last search found.
double threshold_of(SparseContext& context);

/// The least key of magnitudes that are at least `threshold`.
std::uint64_t key_of(const SparseContext& context, double threshold);
double magnitude_of_key(const SparseContext& context, std::uint64_t key);

}  // namespace weft::detail
