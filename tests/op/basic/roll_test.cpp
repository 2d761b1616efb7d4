#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/roll.hpp>

#include <limits>

namespace weft::test {
namespace {

template <class T>
Expected<T> roll_matrix(const Shape& shape, int axis, index_t shift) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            Index at = point_at(shape, column);
            index_t to = at[axis] + shift;
            while (to < 0) to += shape[axis];
            while (to >= shape[axis]) to -= shape[axis];
            at[axis] = to;
            return position_of(shape, at) == row ? T{1} : T{};
          }};
}

}  // namespace

TEST(Roll, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{9}, Shape{1, 6}, Shape{5, 3}, Shape{3, 4, 2}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          for (const index_t shift : {1, -2, 7}) {
            if (shift != -2 && !std::same_as<T, double>) continue;
            const auto expected = roll_matrix<T>(shape, axis, shift);
            for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
              check_operator(roll<T>(layout, {.axis = axis, .shift = shift}), expected);
            });
          }
        }
      }
    });
  });
}

TEST(Roll, is_periodic) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {7, 2});
    const auto x = make_array<float>(layout);
    EXPECT_TRUE(roll<float>(layout, {.axis = 0, .shift = -14}).is_identity());
    EXPECT_TRUE(roll<float>(Layout::scatter(comm, {0, 2}), {.axis = 0}).is_identity());
    // The largest shifts are 0 and 6 modulo 7.
    constexpr index_t most = std::numeric_limits<index_t>::max();
    ASSERT_EQ(most % 7, 0);
    EXPECT_TRUE(roll<float>(layout, {.axis = 0, .shift = most}).is_identity());
    const auto R = roll<float>(layout, {.axis = 0, .shift = -most - 1});
    expect_elements(R * x, (roll<float>(layout, {.axis = 0, .shift = 6}) * x).to_host());
    EXPECT_TRUE(R.normal().is_identity());
  });
}

TEST(Roll, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"roll", "axis -3"},
                                [&] { roll<double>(layout, {.axis = -3}); });
    expect_error<ArgumentError>(comm, {"stack"}, [&] { roll<double>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
