#include <weft/op/interpolation/interp.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/axis_layout.hpp"
#include "op/interpolation/gather_operator.hpp"
#include "op/interpolation/spline_moments.hpp"

#include <fmt/core.h>

#include <cmath>
#include <numbers>

namespace weft {
namespace {

using detail::Bracket;
using detail::GatherMatrix;

/// The matrix whose row i has the entries that add(position, put) puts, as put(column, weight).
template <class F>
GatherMatrix matrix_of(std::span<const double> positions, index_t n, F add) {
  GatherMatrix matrix{static_cast<index_t>(positions.size()), n, {}};
  for (index_t row = 0; row < matrix.rows; ++row) {
    add(positions[static_cast<std::size_t>(row)], [&](index_t column, double weight) {
      if (weight != 0) matrix.entries.push_back({row, column, weight});
    });
  }
  return matrix;
}

GatherMatrix nearest_matrix(std::span<const double> positions, index_t n) {
  return matrix_of(positions, n, [](double position, auto put) {
    const double below = std::floor(position);
    const auto sample = static_cast<index_t>(below);
    const double fraction = position - below;
    put(fraction > 0.5 || (fraction == 0.5 && sample % 2 == 1) ? sample + 1 : sample, 1);
  });
}

GatherMatrix linear_matrix(std::span<const double> positions, index_t n) {
  return matrix_of(positions, n, [n](double position, auto put) {
    const auto [before, fraction] = detail::bracket(position, n);
    put(before, 1 - fraction);
    put(before + 1, fraction);
  });
}

GatherMatrix sinc_matrix(std::span<const double> positions, index_t n) {
  return matrix_of(positions, n, [n](double position, auto put) {
    const auto sample = static_cast<index_t>(position);
    if (static_cast<double>(sample) == position) return put(sample, 1);
    for (index_t column = 0; column < n; ++column) {
      const double angle = std::numbers::pi * (position - static_cast<double>(column));
      put(column, std::sin(angle) / angle);
    }
  });
}

/// What the moments of a spline contribute, in addition to linear interpolation.
GatherMatrix moment_matrix(std::span<const double> positions, index_t n) {
  return matrix_of(positions, n, [n](double position, auto put) {
    const auto [before, after] = detail::bracket(position, n);
    const double left = 1 - after;
    put(before, left * left * left - left);
    put(before + 1, after * after * after - after);
  });
}

/// y = L x + C m, where m are the moments of the spline through x.
template <Scalar T>
LinearOperator<T> spline(const Layout& layout, std::span<const double> positions, int axis) {
  const index_t n = layout.shape()[axis];
  const auto count = static_cast<index_t>(positions.size());
  if (!detail::is_undistributed(layout, axis)) {
    const Layout whole = detail::gather_axis(layout, axis);
    const auto inside = spline<T>(whole, positions, axis);
    const Layout range = detail::resize_axis(layout, axis, count);
    return redistribute<T>(inside.range(), range) * (inside * redistribute<T>(layout, whole));
  }
  const Layout range = detail::resize_axis(layout, axis, count);
  const auto linear = detail::gather_operator<T>("linear interpolation", layout, range, axis, 1,
                                                 linear_matrix(positions, n));
  const auto cubic = detail::gather_operator<T>("cubic terms", layout, range, axis, 1,
                                                moment_matrix(positions, n));
  return linear + cubic * detail::spline_moments<T>(layout, axis);
}

}  // namespace

template <Scalar T>
LinearOperator<T> interp(const Layout& layout, std::span<const double> positions,
                         const InterpOptions& options) {
  constexpr const char* who = "interp";
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("axis {}, kind {}, {}", options.axis, static_cast<int>(options.kind),
                  detail::text_of_positions(positions)));
  detail::require_enumerator(options.kind, InterpKind::cubic_spline, who, "InterpKind");
  const int axis = normalize_axis(options.axis, layout.ndim(), who);
  const index_t n = layout.shape()[axis];
  for (const double position : positions) detail::require_position(position, n, axis, who);
  const auto gather = [&](const char* kind, const GatherMatrix& matrix) {
    return detail::gather_operator<T>(fmt::format("{} interpolation along axis {}", kind, axis),
                                      layout, detail::resize_axis(layout, axis, matrix.rows), axis,
                                      1, matrix);
  };
  switch (options.kind) {
    case InterpKind::nearest: return gather("nearest", nearest_matrix(positions, n));
    case InterpKind::sinc: return gather("sinc", sinc_matrix(positions, n));
    case InterpKind::cubic_spline: return spline<T>(layout, positions, axis);
    case InterpKind::linear: break;
  }
  return gather("linear", linear_matrix(positions, n));
}

#define INSTANTIATE(T)                                                         \
  template LinearOperator<T> interp<T>(const Layout&, std::span<const double>, \
                                       const InterpOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
