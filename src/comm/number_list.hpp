#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::detail {

/// Lists those numbers below `end` for which contains(number) holds as "0-2, 5", by calls of
/// append(separator, number). Does not allocate.
template <class Contains, class Append>
void list_numbers(int end, Contains contains, Append append) {
  const char* separator = "";
  for (int from = 0; from < end; ++from) {
    if (!contains(from)) continue;
    int to = from;
    while (to + 1 < end && contains(to + 1)) ++to;
    append(separator, from);
    if (to > from) append(to == from + 1 ? ", " : "-", to);
    separator = ", ";
    from = to;
  }
}

/// Ascending numbers as "0-2, 5".
inline std::string list_of(const std::vector<int>& numbers) {
  std::string text;
  list_numbers(
      numbers.empty() ? 0 : numbers.back() + 1,
      [&](int number) { return std::binary_search(numbers.begin(), numbers.end(), number); },
      [&](const char* separator, int number) { text += fmt::format("{}{}", separator, number); });
  return text;
}

}  // namespace weft::detail
