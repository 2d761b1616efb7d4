#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/restriction.hpp>

#include <algorithm>

namespace weft::test {
namespace {

template <class T>
Expected<T> restriction_matrix(const Shape& shape, int axis, const std::vector<index_t>& indices) {
  const Shape kept = shape.with(axis, static_cast<index_t>(indices.size()));
  return {kept.count(), shape.count(), [&](index_t row, index_t column) {
            Index at = point_at(kept, row);
            at[axis] = indices[static_cast<std::size_t>(at[axis])];
            return position_of(shape, at) == column ? T{1} : T{};
          }};
}

bool is_cut_for_some(const Layout& layout, int axis) {
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    if (layout.box(rank).shape[axis] != layout.shape()[axis]) return true;
  }
  return false;
}

}  // namespace

TEST(Restriction, matches_matrix) {
  on_ranks([](Comm comm) {
    const auto check = [&](auto example, const std::vector<Shape>& shapes) {
      using T = decltype(example);
      for (const Shape& shape : shapes) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          const index_t last = shape[axis] - 1;
          for (const std::vector<index_t>& indices : std::vector<std::vector<index_t>>{
                   {0, 1, last}, {1, 1, 1, last, last}, {last, 0, 1, 0}, {}}) {
            const auto expected = restriction_matrix<T>(shape, axis, indices);
            for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
              if (!std::is_sorted(indices.begin(), indices.end()) && is_cut_for_some(layout, axis))
                return;
              check_operator(restriction<T>(layout, indices, {.axis = axis}), expected);
            });
          }
        }
      }
    };
    for_each_scalar([&](auto example) { check(example, {{5, 3}}); });
    check(double{}, {{7}, {2, 5, 3}});
  });
}

// Each rank gets only the indices in its own part.
TEST(Restriction, keeps_elements_on_their_ranks) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {3 * comm.size(), 2});
    std::vector<index_t> every_third;
    for (int rank = 0; rank < comm.size(); ++rank) every_third.push_back(3 * rank + 1);
    const auto a = restriction<double>(layout, every_third, {.axis = 0});
    EXPECT_EQ(a.range(), Layout::scatter(comm, {comm.size(), 2}));
    const auto first = restriction<double>(layout, {0, 1}, {.axis = 0});
    EXPECT_EQ(first.range().local_count(), comm.rank() == 0 ? 4 : 0);
  });
}

TEST(Restriction, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"restriction", "index 5", "axis 1", "(4, 5)"},
                                [&] { restriction<double>(layout, {5}); });
    expect_error<ArgumentError>(comm, {"restriction", "index -1"},
                                [&] { restriction<double>(layout, {-1}); });
    expect_error<ArgumentError>(comm, {"restriction", "axis 7"},
                                [&] { restriction<double>(layout, {0}, {.axis = 7}); });
    if (comm.size() == 1) return;
    expect_error<ArgumentError>(comm, {"index 1 follows 3", "ascend", to_string(layout)}, [&] {
      restriction<double>(layout, {3, 1}, {.axis = 0});
    });
  });
}

}  // namespace weft::test
