#include "sparse_bench/results.hpp"

#include <algorithm>

namespace weft::sparse_bench {

int Results::failures(double bar) const {
  const auto wrong =
      std::count_if(words.begin(), words.end(), [](const WordsRow& row) { return row.failed(); });
  const auto slow = std::count_if(times.begin(), times.end(),
                                  [&](const TimesRow& row) { return row.misses(bar); });
  const auto failed = std::count_if(checks.begin(), checks.end(),
                                    [](const CheckRow& row) { return !row.failure.empty(); });
  return static_cast<int>(wrong + slow + failed);
}

}  // namespace weft::sparse_bench
