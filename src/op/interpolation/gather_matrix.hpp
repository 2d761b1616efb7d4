#pragma once

// Sparse matrices of interpolation operators, on the host.

#include <weft/core/shape.hpp>

#include <span>
#include <string>
#include <vector>

namespace weft::detail {

struct GatherEntry {
  index_t row;
  index_t column;
  double weight;
};

/// A sparse matrix: entries in order of their rows.
struct GatherMatrix {
  index_t rows = 0;
  index_t columns = 0;
  std::vector<GatherEntry> entries;

  GatherMatrix transposed() const;
  /// The entries of rows [begin, end).
  std::span<const GatherEntry> of_rows(index_t begin, index_t end) const;
  /// The columns that rows [begin, end) read, each once, in ascending order.
  std::vector<index_t> columns_of(index_t begin, index_t end) const;
};

/// The two samples around a position on an axis of n samples, and the part that the second one has
/// in a linear interpolation. On the last sample, the first one is the one before it.
struct Bracket {
  index_t before;
  double fraction;
};
Bracket bracket(double position, index_t n);

/// Requires 0 <= position <= n - 1.
void require_position(double position, index_t n, int axis, const char* who);

/// Text by which ranks compare positions.
std::string text_of_positions(std::span<const double> positions);

}  // namespace weft::detail
