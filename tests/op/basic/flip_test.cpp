#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/flip.hpp>

namespace weft::test {
namespace {

template <class T>
Expected<T> flip_matrix(const Shape& shape, int axis) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            Index at = point_at(shape, row);
            at[axis] = shape[axis] - 1 - at[axis];
            return position_of(shape, at) == column ? T{1} : T{};
          }};
}

}  // namespace

TEST(Flip, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{9}, Shape{2}, Shape{1, 6}, Shape{5, 3}, Shape{3, 5, 2}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          const auto expected = flip_matrix<T>(shape, axis);
          for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
            check_operator(flip<T>(layout, {.axis = axis}), expected);
          });
        }
      }
    });
  });
}

TEST(Flip, is_its_own_inverse) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {11, 2});
    const auto F = flip<double>(layout, {.axis = 0});
    const auto x = make_array<double>(layout);
    expect_elements(F * (F * x), x.to_host());
    EXPECT_TRUE(F.normal().is_identity());
    EXPECT_TRUE(flip<double>(Layout::scatter(comm, {5, 1})).is_identity());
    EXPECT_TRUE(flip<double>(Layout::scatter(comm, {5, 0})).is_identity());
  });
}

TEST(Flip, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"flip", "axis 2"},
                                [&] { flip<double>(layout, {.axis = 2}); });
    expect_error<ArgumentError>(comm, {"stack"}, [&] { flip<double>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
