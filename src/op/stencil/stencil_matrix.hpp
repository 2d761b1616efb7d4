#pragma once

// Matrices of finite differences along one axis. differences.cpp makes them, stencil_operator.cpp
// applies them.

#include <weft/array/halo_exchange.hpp>

#include <array>
#include <functional>
#include <vector>

namespace weft::detail {

/// How far a row of a stencil matrix reaches to either side of the diagonal.
inline constexpr int reach = 4;
/// The coefficients of one row: those of columns i - reach to i + reach in row i.
using Stencil = std::array<double, 2 * reach + 1>;

/// An n x n banded matrix with the same stencil in every row except a few at both ends.
class StencilMatrix {
 public:
  /// Each row is the first of the stencils that does not reach beyond the ends, or zero.
  StencilMatrix(index_t n, const std::vector<Stencil>& choices);

  StencilMatrix transposed() const;

  index_t size() const { return n_; }
  /// Rows before head() and from tail() on are special; rows in between are interior().
  index_t head() const { return head_; }
  index_t tail() const { return tail_; }
  const Stencil& interior() const { return rows_.back(); }
  /// The rows before head(), the rows from tail() on, and the interior row.
  const std::vector<Stencil>& rows() const { return rows_; }
  const Stencil& row(index_t i) const;
  /// The largest reach of all rows, and that of the interior row.
  AxisPadding width() const;
  AxisPadding interior_width() const;
  /// The larger side of the widest row.
  index_t max_reach() const;

 private:
  using Row = std::function<Stencil(index_t)>;
  StencilMatrix(index_t n, const Stencil& interior, const Row& row);

  index_t n_;
  index_t head_;
  index_t tail_;
  std::vector<Stencil> rows_;
};

}  // namespace weft::detail
