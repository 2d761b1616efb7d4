#include <weft/op/interpolation/bilinear.hpp>

#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>

#include <cmath>
#include <limits>

namespace weft::test {
namespace {

constexpr int axes = 2;
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
void check_bilinear(const Comm& comm, const Shape& shape, const Points& points) {
  const auto expected = matrix_of<T>(shape, points);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(bilinear<T>(layout, points), expected,
                   std::same_as<Real<T>, float> ? 1e-6 : 1e-14);
  });
}

}  // namespace

TEST(Bilinear, matches_matrix) {
  on_ranks([](Comm comm) {
    const Points points = {{0.5, 2.25}, {3, 4},   {0, 0},  {0.5, 2.25},
                           {2.9, 3.1},  {1, 2.5}, {3, 0.1}};
    check_bilinear<double>(comm, {4, 5}, points);
    check_bilinear<double>(comm, {4, 5, 2}, points);
    check_bilinear<double>(comm, {4, 5, 1, 3}, points);
  });
}

TEST(Bilinear, handles_short_axes_and_few_positions) {
  on_ranks([](Comm comm) {
    check_bilinear<double>(comm, {1, 1}, {{0, 0}, {0, 0}});
    check_bilinear<double>(comm, {1, 3}, {{0, 1.5}});
    check_bilinear<double>(comm, {2, 1, 2}, {{0.25, 0}, {1, 0}});
    check_bilinear<double>(comm, {3, 2}, {});
  });
}

TEST(Bilinear, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      check_bilinear<decltype(example)>(comm, {3, 4, 2}, {{0.3, 2.6}, {2, 3}, {1.5, 0}});
    });
  });
}

TEST(Bilinear, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto expect = [&](const std::vector<std::string>& words, const Shape& shape,
                            const Points& points) {
      expect_error<ArgumentError>(comm, words,
                                  [&] { bilinear<double>(Layout::scatter(comm, shape), points); });
    };
    expect({"bilinear", "position 3.5", "axis 0", "4 samples"}, {4, 5}, {{0, 0}, {3.5, 1}});
    expect({"bilinear", "position -1", "axis 1", "5 samples"}, {4, 5}, {{0, 0}, {1, -1}});
    expect({"bilinear", "at least 2"}, {6}, {{0, 0}});
  });
}

}  // namespace weft::test
