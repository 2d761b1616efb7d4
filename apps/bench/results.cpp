#include "bench/results.hpp"

#include <algorithm>

namespace weft::bench {

Summary summarize(const std::vector<Row>& rows) {
  Summary summary;
  int cells = 0;
  const auto add = [&](index_t bytes, const std::optional<Cell>& cell) {
    if (!cell) return;
    ++cells;
    summary.wrong += cell->wrong.value_or(0);
    summary.average_busbw += cell->busbw;
    if (!cell->raw) return;
    const bool large = bytes >= large_bytes;
    auto& worst = large ? summary.worst_ratio_large : summary.worst_difference_small_us;
    const double seen = large ? cell->raw->ratio : cell->raw->difference_us;
    worst = std::max(worst.value_or(seen), seen);
  };
  for (const Row& row : rows) {
    add(row.bytes, row.out_of_place);
    add(row.bytes, row.in_place);
  }
  if (cells > 0) summary.average_busbw /= cells;
  return summary;
}

void keep_faster(std::optional<Cell>& cell, const std::optional<Cell>& other) {
  if (!cell) return;
  const index_t wrong = cell->wrong.value_or(0) + other->wrong.value_or(0);
  if (other->time_us < cell->time_us) cell = other;
  if (cell->wrong) cell->wrong = wrong;
}

Cell make_cell(double seconds, index_t bytes, double factor) {
  Cell cell;
  cell.time_us = seconds * 1e6;
  cell.algbw = static_cast<double>(bytes) / 1e9 / seconds;
  cell.busbw = cell.algbw * factor;
  return cell;
}

}  // namespace weft::bench
