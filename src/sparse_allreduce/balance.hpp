#pragma once

#include "sparse_allreduce/sparse_context.hpp"

#include <vector>

namespace weft::detail {

/// Like gather_own. If the options ask for it, ranks first send pairs to each other so that their
/// numbers differ by at most one; the order of the pairs stays the same.
index_t gather_balanced(SparseContext& context, const std::vector<index_t>& counts);

}  // namespace weft::detail
