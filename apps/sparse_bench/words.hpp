#pragma once

#include "sparse_bench/cases.hpp"

namespace weft::sparse_bench {

/// Calls of one algorithm on integer-valued gradients. Words are those of the rank with the most,
/// the mean over the calls.
struct WordsRow {
  Case at;
  int ranks = 1;
  /// The algorithm of the last call: that which "auto" has chosen.
  std::string ran;
  double words = 0;
  double formula = 0;
  /// The formula is an upper bound.
  bool is_bound = false;
  double padding = 0;
  double header = 0;
  /// Bytes of a rank and a call by the statistics of Comm: sent and received in a tree, received in
  /// a gather, sent otherwise. The mean over ranks and calls.
  double bytes = 0;
  /// Calls on ranks whose words differ from the formula.
  index_t mismatches = 0;
  /// Whether the statistics of Comm have the bytes of the words.
  bool bytes_agree = true;
  /// Elements that were selected, divided by k; the mean over ranks and calls.
  double selected = 0;
  /// The largest number of pairs of the result that a rank owns, divided by the mean. Absent if
  /// there are no owners.
  std::optional<double> imbalance;
  /// Absent where rounding makes it positive.
  std::optional<double> conservation_error;
  double scratch_per_element = 0;

  bool failed() const {
    return mismatches > 0 || !bytes_agree || conservation_error.value_or(0) != 0;
  }
};

/// Counts the words of `calls` calls. Collective on `comm`; all ranks get the same row.
WordsRow measure_words(const Comm& comm, const Options& options, const Case& at, int calls);

}  // namespace weft::sparse_bench
