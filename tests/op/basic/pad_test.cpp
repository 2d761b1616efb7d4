#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/pad.hpp>

namespace weft::test {
namespace {

template <class T>
Expected<T> pad_matrix(const Shape& shape, const std::vector<AxisPadding>& widths) {
  Index extents = shape;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const AxisPadding width = widths[static_cast<std::size_t>(axis)];
    extents[axis] += width.before + width.after;
  }
  const Shape padded(extents);
  return {padded.count(), shape.count(), [&, padded](index_t row, index_t column) {
            Index at = point_at(padded, row);
            for (int axis = 0; axis < shape.ndim(); ++axis) {
              at[axis] -= widths[static_cast<std::size_t>(axis)].before;
              if (at[axis] < 0 || at[axis] >= shape[axis]) return T{};
            }
            return position_of(shape, at) == column ? T{1} : T{};
          }};
}

struct Case {
  Shape shape;
  std::vector<AxisPadding> widths;
};

}  // namespace

TEST(Pad, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Case& each : std::vector<Case>{{{5}, {{2, 1}}},
                                                {{5}, {{0, 0}}},
                                                {{3, 4}, {{1, 2}, {0, 3}}},
                                                {{1, 3, 2}, {{1, 0}, {2, 2}, {0, 1}}},
                                                {{0, 2}, {{1, 2}, {1, 1}}}}) {
        const auto expected = pad_matrix<T>(each.shape, each.widths);
        for_operator_layouts<T>(comm, each.shape, [&](const Layout& layout) {
          check_operator(pad<T>(layout, each.widths), expected);
        });
      }
    });
  });
}

TEST(Pad, keeps_elements_on_their_ranks) {
  on_ranks([](Comm comm) {
    const int ranks = comm.size();
    const auto a = pad<double>(Layout::scatter(comm, {2 * ranks}), {{3, 4}});
    index_t mine = 2;
    if (comm.rank() == 0) mine += 3;
    if (comm.rank() == ranks - 1) mine += 4;
    EXPECT_EQ(a.range().local_count(), mine);
    EXPECT_TRUE(a.normal().is_identity());
  });
}

TEST(Pad, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"pad", "1 widths", "(4, 5)"}, [&] {
      pad<double>(layout, {{1, 1}});
    });
    expect_error<ArgumentError>(comm, {"pad", "axis 1", "-2"}, [&] {
      pad<double>(layout, {{1, 1}, {-2, 0}});
    });
  });
}

}  // namespace weft::test
