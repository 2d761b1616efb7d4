#pragma once

#include "sparse_allreduce/selectors.hpp"
#include "sparse_allreduce/sparse_context.hpp"

#include <string>

namespace weft::detail {

/// Throws if there is none of this name.
const SparsePreset& find_preset(const std::string& name);

/// Adds the gradient to the residual and moves what the selector of the options, or that of the
/// algorithm, chooses to context.picked.
void select_elements(SparseContext& context);

// The algorithms, one file each in presets/. Some names are the same exchange with other selectors.

SparseOutcome run_dense(SparseContext& context);
SparseOutcome run_topka(SparseContext& context);
SparseOutcome run_topka2(SparseContext& context);
SparseOutcome run_topksa(SparseContext& context);
SparseOutcome run_gtopk(SparseContext& context);
SparseOutcome run_oktopk(SparseContext& context);
SparseOutcome run_auto(SparseContext& context);
/// Whether run_auto() reduces all elements.
bool auto_is_dense(const SparseContext& context);

}  // namespace weft::detail
