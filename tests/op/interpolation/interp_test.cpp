#include <weft/op/interpolation/interp.hpp>

#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace weft::test {
namespace {

using Matrix = std::vector<std::vector<double>>;
using Positions = std::vector<double>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// The solution of a x = b, by elimination with pivoting.
std::vector<double> solve(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// The cubic polynomials c0 + c1 u + c2 u^2 + c3 u^3 between samples, four coefficients each, that
/// meet all samples with continuous first and second derivatives, and end with a second derivative
/// of zero.
std::vector<double> spline_through(const std::vector<double>& x) {
  const std::size_t pieces = x.size() - 1;
  Matrix a;
  std::vector<double> b;
  const auto equation = [&](double right) -> std::vector<double>& {
    b.push_back(right);
    return a.emplace_back(4 * pieces);
  };
  for (std::size_t p = 0; p < pieces; ++p) {
    equation(x[p])[4 * p] = 1;
    auto& end = equation(x[p + 1]);
    for (std::size_t k = 0; k < 4; ++k) end[4 * p + k] = 1;
    if (p + 1 == pieces) break;
    auto& slope = equation(0);
    for (std::size_t k = 1; k < 4; ++k) slope[4 * p + k] = static_cast<double>(k);
    slope[4 * (p + 1) + 1] = -1;
    auto& bend = equation(0);
    bend[4 * p + 2] = 2;
    bend[4 * p + 3] = 6;
    bend[4 * (p + 1) + 2] = -2;
  }
  equation(0)[2] = 2;
  auto& last = equation(0);
  last[4 * (pieces - 1) + 2] = 2;
  last[4 * (pieces - 1) + 3] = 6;
  return solve(a, b);
}

double spline_weight(index_t column, double position, index_t n) {
  if (n == 1) return 1;
  std::vector<double> x(at(n));
  x[at(column)] = 1;
  const std::vector<double> c = spline_through(x);
  const index_t piece = std::min(static_cast<index_t>(position), n - 2);
  const double u = position - static_cast<double>(piece);
  const double* of = c.data() + 4 * piece;
  return of[0] + u * (of[1] + u * (of[2] + u * of[3]));
}

double weight_of(InterpKind kind, index_t column, double position, index_t n) {
  const double distance = position - static_cast<double>(column);
  switch (kind) {
    case InterpKind::nearest: return static_cast<double>(column) == std::nearbyint(position);
    case InterpKind::linear: return std::max(0.0, 1 - std::abs(distance));
    case InterpKind::sinc: {
      const double angle = std::numbers::pi * distance;
      return angle == 0 ? 1 : std::sin(angle) / angle;
    }
    case InterpKind::cubic_spline: return spline_weight(column, position, n);
  }
  return 0;
}

template <class T>
Expected<T> matrix_of(const Shape& shape, int axis, const Positions& positions, InterpKind kind) {
  Matrix weights;
  for (const double position : positions) {
    std::vector<double>& row = weights.emplace_back();
    for (index_t column = 0; column < shape[axis]; ++column) {
      row.push_back(weight_of(kind, column, position, shape[axis]));
    }
  }
  const Shape range = shape.with(axis, static_cast<index_t>(positions.size()));
  return {range.count(), shape.count(), [&](index_t row, index_t column) {
            Index to = point_at(range, row);
            const Index from = point_at(shape, column);
            const double weight = weights[at(to[axis])][at(from[axis])];
            to[axis] = from[axis];
            return T(static_cast<Real<T>>(to == from ? weight : 0));
          }};
}

template <class T>
void check_interp(const Comm& comm, const Shape& shape, int axis, const Positions& positions,
                  std::initializer_list<InterpKind> kinds) {
  for (const InterpKind kind : kinds) {
    const auto expected = matrix_of<T>(shape, axis, positions, kind);
    for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
      check_operator(interp<T>(layout, positions, {.axis = axis - shape.ndim(), .kind = kind}),
                     expected, std::same_as<Real<T>, float> ? 3e-6 : 1e-13);
    });
  }
}

constexpr auto all_kinds = {InterpKind::nearest, InterpKind::linear, InterpKind::sinc,
                            InterpKind::cubic_spline};

}  // namespace

TEST(Interp, matches_matrix_along_any_axis) {
  on_ranks([](Comm comm) {
    // In any order, repeated, at both ends, on samples and half way between them.
    const Positions along_nine = {3.25, 8, 0, 0.5, 1.5, 7.9, 3.25, 3, 6.01, 2.5, 8};
    check_interp<double>(comm, {9}, 0, along_nine, all_kinds);
    const Positions along_five = {4, 0.1, 2.7, 2.7, 3.5, 1};
    check_interp<double>(comm, {2, 5, 3}, 1, along_five, all_kinds);
    check_interp<double>(comm, {5, 4}, 0, along_five, all_kinds);
    check_interp<double>(comm, {3, 5}, 1, along_five, all_kinds);
  });
}

TEST(Interp, handles_short_axes_and_few_positions) {
  on_ranks([](Comm comm) {
    check_interp<double>(comm, {1}, 0, {0, 0}, all_kinds);
    check_interp<double>(comm, {2, 2}, 0, {0.75}, all_kinds);
    check_interp<double>(comm, {3}, 0, {1.25, 2, 0}, all_kinds);
    check_interp<double>(comm, {4, 2}, 0, {}, all_kinds);
    check_interp<double>(comm, {3, 0}, 0, {1.5, 2}, {InterpKind::linear});
  });
}

TEST(Interp, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      check_interp<decltype(example)>(comm, {6, 3}, 0, {4.3, 0.2, 5, 2.5}, all_kinds);
    });
  });
}

// Away from the ends, the natural spline through the samples of a cubic polynomial is the
// polynomial. Long axes are solved in pieces, several lanes at a time.
TEST(Interp, by_splines_reproduces_cubic_polynomials) {
  on_ranks([](Comm comm) {
    const auto polynomial = [](double t, index_t lane) {
      const double s = t / 700;
      return 1 + s * (static_cast<double>(lane) - 3 * s + 2 * s * s);
    };
    Positions positions;
    for (int i = 0; i < 40; ++i) positions.push_back(80.3 + 31 * i);
    positions.insert(positions.end(), {511.5, 512.25, 1023.75, 1024.5});
    for (const index_t lanes : {1, 2, 19}) {
      const Layout layout = Layout::scatter(comm, {1401, lanes});
      DistributedArray<double> x(layout);
      x.fill([&](const Index& i) { return polynomial(static_cast<double>(i[0]), i[1]); });
      const auto y =
          (interp<double>(layout, positions, {.axis = 0, .kind = InterpKind::cubic_spline}) * x)
              .all_gather();
      for (index_t i = 0; i < static_cast<index_t>(y.size()); ++i) {
        const double t = positions[at(i / lanes)];
        EXPECT_NEAR(y[at(i)], polynomial(t, i % lanes), 1e-12) << t << ", lane " << i % lanes;
      }
    }
  });
}

TEST(Interp, is_bitwise_equal_for_any_distribution) {
  on_ranks([](Comm comm) {
    const Shape shape{11, 3};
    const Positions positions = {9.7, 0.3, 5.5, 5.5, 10, 2.1, 2.9, 7.77};
    for (const InterpKind kind : {InterpKind::linear, InterpKind::sinc}) {
      const auto result = [&](const Layout& layout) {
        const auto A = interp<double>(layout, positions, {.axis = 0, .kind = kind});
        DistributedArray<double> x(layout);
        x.fill([](const Index& i) { return 1 / static_cast<double>(1 + 3 * i[0] + i[1]); });
        DistributedArray<double> y(A.range());
        y.fill([](const Index& i) { return 1 / static_cast<double>(2 + i[0] + 5 * i[1]); });
        return std::pair((A * x).all_gather(), (adjoint(A) * y).all_gather());
      };
      const auto expected = result(Layout::local(shape));
      for (const Layout& layout :
           {Layout::scatter(comm, shape), Layout::scatter(comm, shape, 1),
            Layout::scatter(comm, shape, 0, thirds(shape[0], comm.size()))}) {
        EXPECT_EQ(result(layout), expected) << to_string(layout);
      }
    }
  });
}

TEST(Interp, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {-0.1, 4.1, nan, 1e30}) {
      expect_error<ArgumentError>(comm, {"interp", fmt::format("position {}", bad), "5 samples"},
                                  [&] {
                                    interp<double>(layout, {0, bad});
                                  });
    }
    expect_error<ArgumentError>(comm, {"interp", "axis 2"},
                                [&] { interp<double>(layout, {0}, {.axis = 2}); });
    expect_error<ArgumentError>(comm, {"interp", "InterpKind", "4"}, [&] {
      interp<double>(layout, {0}, {.kind = static_cast<InterpKind>(4)});
    });
    expect_error<ArgumentError>(comm, {"interp", "0 samples"}, [&] {
      interp<double>(Layout::scatter(comm, {3, 0}), {0});
    });
  });
}

}  // namespace weft::test
