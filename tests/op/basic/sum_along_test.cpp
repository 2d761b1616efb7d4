#include "op/support/check_operator.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/sum_along.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace weft::test {

TEST(SumAlong, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{7}, Shape{1, 6}, Shape{5, 3}, Shape{3, 4, 2}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          const Shape rest = shape.without(axis);
          const Expected<T> expected(rest.count(), shape.count(), [&](index_t row, index_t column) {
            const Index at = point_at(shape, column);
            Index left = point_at(rest, row);
            for (int i = 0; i < rest.ndim(); ++i) left[i] = at[i < axis ? i : i + 1];
            return position_of(rest, left) == row ? T{1} : T{};
          });
          for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
            check_operator(sum_along<T>(layout, {.axis = axis}), expected);
          });
        }
      }
    });
  });
}

// Threads divide the rows of such a matrix, so that they do not write the same cache lines.
TEST(SumAlong, handles_narrow_matrices_on_several_threads) {
  const Shape shape{50'021, 3};
  const Layout layout = Layout::local(shape);
  for (const int threads : {1, 2, 5}) {
#if defined(_OPENMP)
    omp_set_num_threads(threads);
#endif
    for (const int axis : {0, 1}) {
      const auto a = sum_along<double>(layout, {.axis = axis});
      DistributedArray<double> y(a.range());
      y.fill([&](const Index& at) { return static_cast<double>(at[0] + 1); });
      const std::vector<double> spread = (adjoint(a) * y).to_host();
      DistributedArray<double> x(layout);
      x.fill(1.0);
      a.adjoint(y, x, {2.0, 3.0});
      const std::vector<double> added = x.to_host();
      for (index_t i = 0; i < shape.count(); ++i) {
        const auto expected = static_cast<double>((axis == 0 ? i % 3 : i / 3) + 1);
        ASSERT_EQ(spread[static_cast<std::size_t>(i)], expected) << i << " on " << threads;
        ASSERT_EQ(added[static_cast<std::size_t>(i)], 2 * expected + 3) << i << " on " << threads;
      }
    }
  }
#if defined(_OPENMP)
  omp_set_num_threads(1);
#endif
}

TEST(SumAlong, removes_the_axis_from_the_layout) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {4, 5}), [](const Layout& layout) {
      for (const int axis : {0, 1}) {
        EXPECT_EQ(sum_along<double>(layout, {.axis = axis}).range(), without_axis(layout, axis));
      }
    });
  });
}

TEST(SumAlong, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"sum_along", "axis 2"},
                                [&] { sum_along<double>(layout, {.axis = 2}); });
    expect_error<ArgumentError>(comm, {"stack"},
                                [&] { sum_along<double>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
