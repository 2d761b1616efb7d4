#include "op/stencil/stencil_matrix.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

/// Position of the coefficient at an offset from the diagonal.
std::size_t place(int offset) { return static_cast<std::size_t>(index_t{offset} + reach); }

bool fits(const Stencil& stencil, index_t i, index_t n) {
  for (int d = -reach; d <= reach; ++d) {
    if (stencil[place(d)] != 0 && (i + d < 0 || i + d >= n)) return false;
  }
  return true;
}

AxisPadding width_of(const Stencil& stencil) {
  AxisPadding width;
  for (int d = 1; d <= reach; ++d) {
    if (stencil[place(-d)] != 0) width.before = d;
    if (stencil[place(d)] != 0) width.after = d;
  }
  return width;
}

Stencil reversed(Stencil stencil) {
  std::reverse(stencil.begin(), stencil.end());
  return stencil;
}

}  // namespace

StencilMatrix::StencilMatrix(index_t n, const Stencil& interior, const Row& row) : n_(n) {
  // Stencils that reach beyond the ends are within `reach` of them; in the transposed matrix, the
  // rows that such stencils contribute to are within twice that distance.
  const index_t ends = std::min(index_t{2} * reach, n / 2);
  const index_t last_part = std::max(n - index_t{2} * reach, n / 2);
  head_ = ends;
  while (head_ > 0 && row(head_ - 1) == interior) --head_;
  tail_ = last_part;
  while (tail_ < n && row(tail_) == interior) ++tail_;
  for (index_t i = 0; i < head_; ++i) rows_.push_back(row(i));
  for (index_t i = tail_; i < n; ++i) rows_.push_back(row(i));
  rows_.push_back(interior);
}

StencilMatrix::StencilMatrix(index_t n, const std::vector<Stencil>& choices)
    : StencilMatrix(n, choices.front(), [&](index_t i) {
        const auto choice = std::find_if(choices.begin(), choices.end(),
                                         [&](const Stencil& each) { return fits(each, i, n); });
        return choice == choices.end() ? Stencil{} : *choice;
      }) {}

StencilMatrix StencilMatrix::transposed() const {
  return {n_, reversed(interior()), [this](index_t j) {
            Stencil column{};
            for (int d = -reach; d <= reach; ++d) {
              if (j + d >= 0 && j + d < n_) column[place(d)] = row(j + d)[place(-d)];
            }
            return column;
          }};
}

const Stencil& StencilMatrix::row(index_t i) const {
  if (i < head_) return rows_[static_cast<std::size_t>(i)];
  if (i >= tail_) return rows_[static_cast<std::size_t>(head_ + i - tail_)];
  return interior();
}

AxisPadding StencilMatrix::width() const {
  AxisPadding width;
  for (const Stencil& row : rows_) {
    width = {std::max(width.before, width_of(row).before),
             std::max(width.after, width_of(row).after)};
  }
  return {std::min(width.before, n_), std::min(width.after, n_)};
}

index_t StencilMatrix::max_reach() const {
  index_t largest = 0;
  for (const Stencil& row : rows_) {
    largest = std::max({largest, width_of(row).before, width_of(row).after});
  }
  return largest;
}

AxisPadding StencilMatrix::interior_width() const { return width_of(interior()); }

}  // namespace weft::detail
