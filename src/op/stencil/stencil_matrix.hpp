#pragma once

#include <weft/array/halo_exchange.hpp>

#include <array>
#include <functional>
#include <vector>

namespace weft::detail {

/// How far a row of a stencil matrix reaches to either side.
inline constexpr int reach = 2;
/// The coefficients of one row: of the elements from 2 before it to 2 after it.
using Stencil = std::array<double, 2 * reach + 1>;

/// An n x n matrix whose rows are all the same stencil, but for some at both ends.
class StencilMatrix {
 public:
  /// Each row has the first of the stencils that does not reach beyond the ends, or is zero.
  StencilMatrix(index_t n, const std::vector<Stencil>& choices);

  StencilMatrix transposed() const;

  index_t size() const { return n_; }
  /// The rows before head() and from tail() on are the special ones.
  index_t head() const { return head_; }
  index_t tail() const { return tail_; }
  const Stencil& interior() const { return rows_.back(); }
  /// Those before head(), those from tail() on, and the interior one.
  const std::vector<Stencil>& rows() const { return rows_; }
  const Stencil& row(index_t i) const;
  /// How far rows reach indeed, and interior ones.
  AxisPadding width() const;
  AxisPadding interior_width() const;

 private:
  using Row = std::function<Stencil(index_t)>;
  StencilMatrix(index_t n, const Stencil& interior, const Row& row);

  index_t n_;
  index_t head_;
  index_t tail_;
  std::vector<Stencil> rows_;
};

}  // namespace weft::detail
