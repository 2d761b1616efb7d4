#include "op/support/check_operator.hpp"

#include <weft/array/reshape.hpp>
#include <weft/core/error.hpp>
#include <weft/op/basic/reshape.hpp>

namespace weft::test {
namespace {

/// The layout within the groups of ranks of another.
Layout within_groups_of(const Layout& other, const Layout& layout) {
  std::vector<int> groups;
  for (int rank = 0; rank < other.comm().size(); ++rank) groups.push_back(other.group(rank));
  return layout.within(groups);
}

struct Case {
  Shape from;
  Shape to;
};

}  // namespace

// Vectors are in row-major order, so that the matrix of every reshape is the identity.
TEST(Reshape, is_the_identity_in_row_major_order) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const bool all_shapes = std::same_as<T, float>;  // other scalars take the same path
      for (const Case& each : std::vector<Case>{{{5, 6}, {6, 5}},
                                                {{3, 1, 4}, {12}},
                                                {{4, 6}, {2, 2, 3, 2}},
                                                {{1}, {1, 1}},
                                                {{0, 3}, {2, 0}}}) {
        if (!all_shapes && each.from != Shape{5, 6}) continue;
        const auto expected = identity_matrix<T>(each.from.count());
        for_operator_layouts<T>(comm, each.from, [&](const Layout& from) {
          for (const Layout& to :
               {Layout::scatter(from.comm(), each.to), Layout::scatter(from.comm(), each.to, -1),
                Layout::bricks(from.comm(), each.to), Layout::replicated(from.comm(), each.to)}) {
            const auto a = reshape<T>(from, within_groups_of(from, to).on(from.device()));
            check_operator(a, expected);
            EXPECT_TRUE(a.normal().is_identity());
          }
        });
      }
    });
  });
}

TEST(Reshape, vanishes_between_equal_layouts) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    EXPECT_TRUE(reshape<double>(layout, Layout::scatter(comm, {4, 5})).is_identity());
  });
}

TEST(Reshape, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"reshape", "(4, 5) has 20", "(7, 3) has 21"}, [&] {
      reshape<double>(layout, Layout::scatter(comm, {7, 3}));
    });
    if (comm.size() > 1) {
      std::vector<int> alone;
      for (int rank = 0; rank < comm.size(); ++rank) alone.push_back(rank);
      const Layout groups = Layout::scatter(comm, {20}).within(alone);
      expect_error<ArgumentError>(comm, {"reshape", "same groups"},
                                  [&] { reshape<double>(layout, groups); });
      expect_error<ArgumentError>(comm, {"reshape", "same groups"},
                                  [&] { reshape<double>(groups, layout); });
    }
    expect_error<ArgumentError>(comm, {"reshape", "cpu", to_string(other_device())}, [&] {
      reshape<double>(layout, Layout::scatter(comm, {20}).on(other_device()));
    });
    expect_error<ArgumentError>(comm, {"reshape", "stack"}, [&] {
      reshape<double>(Layout::stack({layout}), Layout::scatter(comm, {20}));
    });
    if (comm.size() == 1) return;
    expect_error<ArgumentError>(comm, {"reshape", "communicators"},
                                [&] { reshape<double>(layout, Layout::local({20})); });
  });
}

}  // namespace weft::test
