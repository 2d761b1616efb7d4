#pragma once

#include <weft/core/shape.hpp>

#include <string>
#include <vector>

namespace weft::sparse_bench {

/// What one rank knows of a call, from which the formulas compute words.
struct CallCounts {
  int rank = 0;
  int ranks = 1;
  index_t n = 0;
  index_t k = 0;
  /// Pairs per slot; 0 without slots.
  index_t capacity = 0;
  /// Whether pairs of the result are evened out before the gather.
  bool balanced = false;
  /// Elements that each rank selected.
  std::vector<index_t> selected;
  /// Of this rank's elements, those in the region of each owner.
  std::vector<index_t> sent;
  /// Pairs of the result in the region of each owner.
  std::vector<index_t> owned;
  /// Elements that any rank selected.
  index_t in_union = 0;
};

struct WordCount {
  index_t words = 0;
  /// The formula is an upper bound.
  bool is_bound = false;

  bool admits(index_t counted) const { return is_bound ? counted <= words : counted == words; }
};

/// The words of indices and values of a call on one rank, by the table of
/// docs/sparse-allreduce.md. `algorithm` is the one that ran; throws if it has no formula.
WordCount words_by_formula(const std::string& algorithm, const CallCounts& counts);

/// Whether ranks own regions, so that `sent` and `owned` are needed.
bool has_owners(const std::string& algorithm);
/// Whether `in_union` is needed.
bool needs_union(const std::string& algorithm);

}  // namespace weft::sparse_bench
