#pragma once

#include "sparse_bench/check.hpp"
#include "sparse_bench/selection.hpp"
#include "sparse_bench/times.hpp"
#include "sparse_bench/trace.hpp"
#include "sparse_bench/words.hpp"

namespace weft::sparse_bench {

/// The rows of all tables of a run.
struct Results {
  std::vector<WordsRow> words;
  std::vector<TimesRow> times;
  std::vector<SelectionRow> selection;
  std::vector<CheckRow> checks;
  std::vector<TraceRow> trace;

  /// Rows that violate a formula or a law, or miss the bar.
  int failures(double bar) const;
};

}  // namespace weft::sparse_bench
