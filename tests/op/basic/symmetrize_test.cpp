#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/symmetrize.hpp>

#include <cstdlib>
#include <limits>

namespace weft::test {
namespace {

template <class T>
Expected<T> symmetrize_matrix(const Shape& shape, int axis) {
  const index_t n = shape[axis];
  const Shape mirrored = shape.with(axis, 2 * n - 1);
  return {mirrored.count(), shape.count(), [&](index_t row, index_t column) {
            Index at = point_at(mirrored, row);
            at[axis] = std::abs(at[axis] - (n - 1));
            return position_of(shape, at) == column ? T{1} : T{};
          }};
}

}  // namespace

TEST(Symmetrize, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{8}, Shape{1, 5}, Shape{5, 3}, Shape{2, 4, 3}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          const auto expected = symmetrize_matrix<T>(shape, axis);
          for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
            check_operator(symmetrize<T>(layout, {.axis = axis}), expected);
          });
        }
      }
    });
  });
}

TEST(Symmetrize, distributes_the_range_like_the_domain) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {6, 4});
    EXPECT_EQ(symmetrize<double>(rows, {.axis = 0}).range(), Layout::scatter(comm, {11, 4}));
    EXPECT_EQ(symmetrize<double>(rows, {.axis = 1}).range(), Layout::scatter(comm, {6, 7}));
    EXPECT_TRUE(symmetrize<double>(Layout::scatter(comm, {6, 1})).is_identity());
    EXPECT_TRUE(symmetrize<double>(Layout::scatter(comm, {6, 0})).is_identity());
  });
}

TEST(Symmetrize, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    expect_error<ArgumentError>(comm, {"symmetrize", "axis 2"}, [&] {
      symmetrize<double>(Layout::scatter(comm, {4, 5}), {.axis = 2});
    });
    const index_t most = std::numeric_limits<index_t>::max();
    expect_error<ArgumentError>(comm, {"symmetrize", "overflows", std::to_string(most)}, [&] {
      symmetrize<double>(Layout::scatter(comm, {0, most}), {.axis = 1});
    });
  });
}

}  // namespace weft::test
