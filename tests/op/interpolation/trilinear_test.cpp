#include <weft/op/interpolation/trilinear.hpp>

#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>

#include <cmath>
#include <limits>

namespace weft::test {
namespace {

constexpr int axes = 3;
using Points = std::vector<std::array<double, axes>>;

/// The product of the hat functions of the axes.
template <class T>
Expected<T> matrix_of(const Shape& shape, const Points& points) {
  Shape range = shape.with(0, static_cast<index_t>(points.size()));
  for (int axis = 1; axis < axes; ++axis) range = range.without(1);
  return {range.count(), shape.count(), [&, range](index_t row, index_t column) {
            const Index to = point_at(range, row);
            const Index from = point_at(shape, column);
            double weight = 1;
            for (int axis = 0; axis < axes; ++axis) {
              const double position =
                  points[static_cast<std::size_t>(to[0])][static_cast<std::size_t>(axis)];
              const double distance = std::abs(position - static_cast<double>(from[axis]));
              weight *= std::max(0.0, 1 - distance);
            }
            for (int axis = axes; axis < shape.ndim(); ++axis) {
              if (from[axis] != to[axis - axes + 1]) weight = 0;
            }
            return T(static_cast<Real<T>>(weight));
          }};
}

template <class T>
void check_trilinear(const Comm& comm, const Shape& shape, const Points& points) {
  const auto expected = matrix_of<T>(shape, points);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(trilinear<T>(layout, points), expected,
                   std::same_as<Real<T>, float> ? 1e-6 : 1e-14);
  });
}

}  // namespace

TEST(Trilinear, matches_matrix) {
  on_ranks([](Comm comm) {
    const Points points = {{0.5, 2.25, 1.5}, {2, 3, 2}, {0, 0, 0}, {0.5, 2.25, 1.5}, {1.9, 0.1, 2}};
    check_trilinear<double>(comm, {3, 4, 3}, points);
    check_trilinear<double>(comm, {3, 4, 3, 2}, points);
  });
}

TEST(Trilinear, handles_short_axes_and_few_positions) {
  on_ranks([](Comm comm) {
    check_trilinear<double>(comm, {1, 1, 1}, {{0, 0, 0}});
    check_trilinear<double>(comm, {1, 3, 2}, {{0, 1.5, 0.25}, {0, 2, 1}});
    check_trilinear<double>(comm, {2, 1, 3}, {{0.25, 0, 1.5}});
    check_trilinear<double>(comm, {3, 2, 2}, {});
  });
}

TEST(Trilinear, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      check_trilinear<decltype(example)>(comm, {2, 3, 2, 2},
                                         {{0.3, 1.6, 0.5}, {1, 2, 1}, {0.5, 0, 0}});
    });
  });
}

TEST(Trilinear, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto expect = [&](const std::vector<std::string>& words, const Shape& shape,
                            const Points& points) {
      expect_error<ArgumentError>(comm, words,
                                  [&] { trilinear<double>(Layout::scatter(comm, shape), points); });
    };
    expect({"trilinear", "position 3.5", "axis 0", "4 samples"}, {4, 5, 6},
           {{0, 0, 0}, {3.5, 1, 1}});
    expect({"trilinear", "position -1", "axis 1", "5 samples"}, {4, 5, 6}, {{0, 0, 0}, {1, -1, 0}});
    expect({"trilinear", "at least 3"}, {6, 7}, {{0, 0, 0}});
  });
}

}  // namespace weft::test
