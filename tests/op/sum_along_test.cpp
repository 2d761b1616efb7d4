#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/sum_along.hpp>

namespace weft::test {

TEST(SumAlong, sums_and_spreads) {
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

TEST(SumAlong, gives_the_layout_without_the_axis) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {4, 5}), [](const Layout& layout) {
      for (const int axis : {0, 1}) {
        EXPECT_EQ(sum_along<double>(layout, {.axis = axis}).range(), layout.without(axis));
      }
    });
  });
}

TEST(SumAlong, complains) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"sum_along", "axis 2"},
                                [&] { sum_along<double>(layout, {.axis = 2}); });
    expect_error<ArgumentError>(comm, {"stack"},
                                [&] { sum_along<double>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
