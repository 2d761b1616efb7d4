#pragma once

// Matrices of wavelet transforms, from the definition of the periodic filter bank.

#include "op/support/check_operator.hpp"
#include "op/wavelet/filters.hpp"

#include <vector>

namespace weft::test {

using Values = std::vector<double>;

/// sum over t of f[t] x[(start - step t) mod n]
inline double filtered(const Values& f, const Values& x, index_t start, index_t step) {
  const auto n = static_cast<index_t>(x.size());
  double sum = 0;
  for (std::size_t t = 0; t < f.size(); ++t) {
    const index_t at = start - step * static_cast<index_t>(t);
    sum += f[t] * x[static_cast<std::size_t>((at % n + n) % n)];
  }
  return sum;
}

/// One level of dwt of a line.
inline Values split_line(const Values& x, const detail::WaveletFilters& filters) {
  const auto half = static_cast<index_t>(x.size()) / 2;
  const auto middle = static_cast<index_t>(filters.dec_lo.size()) / 2;
  Values y;
  for (index_t k = 0; k < half; ++k) y.push_back(filtered(filters.dec_lo, x, 2 * k + middle, 1));
  for (index_t k = 0; k < half; ++k) y.push_back(filtered(filters.dec_hi, x, 2 * k + middle, 1));
  return y;
}

/// One level along an axis of the first corner of an array.
inline void split_axis(const Shape& shape, const Shape& corner, int axis, Values& x,
                       const detail::WaveletFilters& filters) {
  for_each_point(whole(corner.with(axis, 1)), [&](const Index& start) {
    Values line;
    Index at = start;
    const auto element = [&](index_t k) -> double& {
      at[axis] = k;
      return x[static_cast<std::size_t>(position_of(shape, at))];
    };
    for (index_t k = 0; k < corner[axis]; ++k) line.push_back(element(k));
    line = split_line(line, filters);
    for (index_t k = 0; k < corner[axis]; ++k) element(k) = line[static_cast<std::size_t>(k)];
  });
}

inline Shape padded_shape(Shape shape, const std::vector<int>& axes, int level) {
  const index_t step = index_t{1} << level;
  for (const int axis : axes) shape = shape.with(axis, (shape[axis] + step - 1) / step * step);
  return shape;
}

/// The matrix of dwtnd.
template <Scalar T>
Expected<T> wavelet_matrix(const Shape& domain, const std::vector<int>& axes, int level,
                           const detail::WaveletFilters& filters) {
  const Shape range = padded_shape(domain, axes, level);
  std::vector<Values> columns;
  for (index_t column = 0; column < domain.count(); ++column) {
    Values x(static_cast<std::size_t>(range.count()));
    x[static_cast<std::size_t>(position_of(range, point_at(domain, column)))] = 1;
    Shape corner = range;
    for (int l = 0; l < level; ++l) {
      for (const int axis : axes) split_axis(range, corner, axis, x, filters);
      for (const int axis : axes) corner = corner.with(axis, corner[axis] / 2);
    }
    columns.push_back(std::move(x));
  }
  return {range.count(), domain.count(), [&](index_t row, index_t column) {
            const Values& x = columns[static_cast<std::size_t>(column)];
            return T(static_cast<Real<T>>(x[static_cast<std::size_t>(row)]));
          }};
}

template <Scalar T>
double wavelet_tolerance() {
  return std::same_as<Real<T>, float> ? 3e-6 : 1e-14;
}

}  // namespace weft::test
