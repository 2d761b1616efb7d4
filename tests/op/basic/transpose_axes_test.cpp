#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/transpose_axes.hpp>

namespace weft::test {
namespace {

Shape permuted(const Shape& shape, const std::vector<int>& axes) {
  Index result = shape;
  for (int i = 0; i < shape.ndim(); ++i) result[i] = shape[axes[static_cast<std::size_t>(i)]];
  return Shape(result);
}

template <class T>
Expected<T> transpose_matrix(const Shape& shape, const std::vector<int>& axes) {
  const Shape to = permuted(shape, axes);
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            const Index to_point = point_at(to, row);
            Index from_point = to_point;
            for (int i = 0; i < shape.ndim(); ++i)
              from_point[axes[static_cast<std::size_t>(i)]] = to_point[i];
            return position_of(shape, from_point) == column ? T{1} : T{};
          }};
}

struct Case {
  Shape shape;
  std::vector<int> axes;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{5, 7}, {1, 0}}, {{2, 3, 4}, {2, 0, 1}},      {{2, 3, 4}, {1, 0, 2}}, {{3, 1, 5}, {0, 2, 1}},
      {{4}, {0}},       {{2, 3, 2, 3}, {3, 1, 0, 2}}};
  return all;
}

}  // namespace

TEST(TransposeAxes, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Case& each : cases()) {
        const auto expected = transpose_matrix<T>(each.shape, each.axes);
        for_operator_layouts<T>(comm, each.shape, [&](const Layout& layout) {
          check_operator(transpose_axes<T>(layout, each.axes), expected);
        });
      }
    });
  });
}

TEST(TransposeAxes, moves_to_another_layout) {
  on_ranks([](Comm comm) {
    for (const Case& each : cases()) {
      const auto expected = transpose_matrix<float>(each.shape, each.axes);
      const Shape shape = permuted(each.shape, each.axes);
      for_operator_layouts<float>(comm, each.shape, [&](const Layout& layout) {
        if (is_grouped(layout)) return;
        const Layout range = Layout::scatter(layout.comm(), shape, -1).on(layout.device());
        check_operator(transpose_axes<float>(layout, each.axes, {.range = range}), expected);
      });
    }
  });
}

// Large enough for loops over tiles, with partial tiles at the ends.
TEST(TransposeAxes, handles_partial_tiles) {
  on_ranks([](Comm comm) {
    for (const Case& each : std::vector<Case>{{{131, 77}, {1, 0}}, {{33, 5, 70}, {2, 0, 1}}}) {
      for_operator_layouts<std::complex<float>>(comm, each.shape, [&](const Layout& layout) {
        const auto a = transpose_axes<std::complex<float>>(layout, each.axes);
        const auto x = make_array<std::complex<float>>(layout, 1);
        const auto y = a * x;
        std::vector<std::complex<float>> expected;
        for_each_point(y.layout().box(), [&](const Index& to_point) {
          Index from_point = to_point;
          for (int i = 0; i < from_point.ndim(); ++i) {
            from_point[each.axes[static_cast<std::size_t>(i)]] = to_point[i];
          }
          expected.push_back(value<std::complex<float>>(position_of(each.shape, from_point), 1));
        });
        expect_elements(y, expected);
        expect_elements(adjoint(a) * y, local_values<std::complex<float>>(layout, 1));
      });
    }
  });
}

TEST(TransposeAxes, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    for (const std::vector<int>& axes : {std::vector<int>{0}, {0, 0}, {0, 1, 1}}) {
      expect_error<ArgumentError>(comm, {"once", "(4, 5)"},
                                  [&] { transpose_axes<double>(layout, axes); });
    }
    expect_error<ArgumentError>(comm, {"transpose_axes", "axis 2"}, [&] {
      transpose_axes<double>(layout, {0, 2});
    });
    expect_error<ArgumentError>(comm, {"(4, 5)", "(5, 4)"}, [&] {
      transpose_axes<double>(layout, {1, 0}, {.range = layout});
    });
  });
}

}  // namespace weft::test
