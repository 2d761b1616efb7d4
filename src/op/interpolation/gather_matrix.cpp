#include "op/interpolation/gather_matrix.hpp"

#include <weft/core/error.hpp>

#include "core/hash.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::detail {

GatherMatrix GatherMatrix::transposed() const {
  GatherMatrix result{columns, rows, entries};
  for (GatherEntry& entry : result.entries) std::swap(entry.row, entry.column);
  std::stable_sort(result.entries.begin(), result.entries.end(),
                   [](const GatherEntry& a, const GatherEntry& b) { return a.row < b.row; });
  return result;
}

std::span<const GatherEntry> GatherMatrix::of_rows(index_t begin, index_t end) const {
  const auto first_of = [&](index_t row) {
    return std::partition_point(entries.begin(), entries.end(),
                                [&](const GatherEntry& entry) { return entry.row < row; });
  };
  return {first_of(begin), first_of(end)};
}

std::vector<index_t> GatherMatrix::columns_of(index_t begin, index_t end) const {
  std::vector<index_t> read;
  for (const GatherEntry& entry : of_rows(begin, end)) read.push_back(entry.column);
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  return read;
}

Bracket bracket(double position, index_t n) {
  const auto below = static_cast<index_t>(std::floor(position));
  const index_t before = std::clamp<index_t>(below, 0, std::max<index_t>(0, n - 2));
  return {before, position - static_cast<double>(before)};
}

void require_position(double position, index_t n, int axis, const char* who) {
  require(position >= 0 && position <= static_cast<double>(n - 1),
          "{}: position {} is outside axis {}, which has {} samples", who, position, axis, n);
}

std::string text_of_positions(std::span<const double> positions) {
  Hash hash;
  for (const double position : positions) hash.add(std::bit_cast<std::uint64_t>(position));
  return fmt::format("{} positions with hash {:x}", positions.size(), hash.value());
}

}  // namespace weft::detail
