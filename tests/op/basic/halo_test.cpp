#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/halo.hpp>

#include <algorithm>

namespace weft::test {
namespace {

/// The position along an axis that a ghost cell copies, or -1 for a zero.
index_t source_of(index_t position, index_t n, Boundary boundary) {
  if (position >= 0 && position < n) return position;
  switch (boundary) {
    case Boundary::zero: return -1;
    case Boundary::periodic: return (position + n) % n;
    case Boundary::reflect: return position < 0 ? -position : 2 * n - 2 - position;
    case Boundary::edge: return position < 0 ? 0 : n - 1;
  }
  return -1;
}

/// The sources of all extended parts along an axis, one part after the other.
std::vector<index_t> sources_along(const Layout& layout, int axis, AxisPadding width,
                                   const HaloOperatorOptions& options) {
  const index_t n = layout.shape()[axis];
  const auto splits = layout.splits(axis);
  std::vector<index_t> sources;
  for (std::size_t place = 0; place + 1 < splits.size(); ++place) {
    if (splits[place] == splits[place + 1]) continue;
    for (index_t i = splits[place] - width.before; i < splits[place + 1] + width.after; ++i) {
      if (options.trim && (i < 0 || i >= n)) continue;
      sources.push_back(source_of(i, n, options.boundary));
    }
  }
  return sources;
}

template <class T>
Expected<T> halo_matrix(const Layout& layout, const std::vector<AxisPadding>& widths,
                        const HaloOperatorOptions& options) {
  std::vector<std::vector<index_t>> sources;
  Index extents = layout.shape();
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    sources.push_back(sources_along(layout, axis, widths[static_cast<std::size_t>(axis)], options));
    extents[axis] = static_cast<index_t>(sources.back().size());
  }
  const Shape extended(extents);
  return {extended.count(), layout.count(), [&](index_t row, index_t column) {
            Index at = point_at(extended, row);
            for (int axis = 0; axis < at.ndim(); ++axis) {
              at[axis] =
                  sources[static_cast<std::size_t>(axis)][static_cast<std::size_t>(at[axis])];
              if (at[axis] < 0) return T{};
            }
            return position_of(layout.shape(), at) == column ? T{1} : T{};
          }};
}

/// Whether groups of ranks would have ranges of different shapes, which layouts do not support.
bool groups_differ(const Layout& layout) {
  if (!is_grouped(layout)) return false;
  std::vector<int> sizes(static_cast<std::size_t>(layout.comm().size()));
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    ++sizes[static_cast<std::size_t>(layout.group(rank))];
  }
  std::erase(sizes, 0);
  return !std::all_of(sizes.begin(), sizes.end(), [&](int size) { return size == sizes[0]; });
}

template <class T = double>
void check_halo(const Layout& layout, const std::vector<AxisPadding>& widths,
                const HaloOperatorOptions& options) {
  if (groups_differ(layout)) return;
  check_operator(halo<T>(layout, widths, options), halo_matrix<T>(layout, widths, options));
}

}  // namespace

TEST(Halo, matches_matrix_for_all_boundaries) {
  on_ranks([](Comm comm) {
    for (const Boundary boundary :
         {Boundary::zero, Boundary::periodic, Boundary::reflect, Boundary::edge}) {
      for_operator_layouts<double>(comm, {7}, [&](const Layout& layout) {
        check_halo(layout, {{1, 1}}, {.boundary = boundary});
        check_halo(layout, {{4, 2}}, {.boundary = boundary});
      });
      for_operator_layouts<double>(comm, {4, 3}, [&](const Layout& layout) {
        check_halo(layout, {{1, 2}, {1, 0}}, {.boundary = boundary});
      });
    }
  });
}

TEST(Halo, trims_ghost_cells_outside_the_array) {
  on_ranks([](Comm comm) {
    for_operator_layouts<double>(comm, {7}, [&](const Layout& layout) {
      check_halo(layout, {{1, 1}}, {.trim = true});
      check_halo(layout, {{5, 3}}, {.trim = true});
    });
    for_operator_layouts<double>(comm, {4, 3, 2}, [&](const Layout& layout) {
      check_halo(layout, {{1, 1}, {1, 1}, {0, 1}}, {.trim = true});
    });
  });
}

TEST(Halo, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_operator_layouts<T>(comm, {4, 2}, [&](const Layout& layout) {
        check_halo<T>(layout, {{1, 2}, {0, 1}}, {});
      });
    });
  });
}

TEST(Halo, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"halo", "1 widths", "(4, 5)"}, [&] {
      halo<double>(layout, {{1, 1}});
    });
    expect_error<ArgumentError>(comm, {"trim"}, [&] {
      halo<double>(layout, {{1, 1}, {0, 0}}, {.boundary = Boundary::edge, .trim = true});
    });
    expect_error<ArgumentError>(comm, {"widths 6 and 0", "axis 1"}, [&] {
      halo<double>(layout, {{0, 0}, {6, 0}});
    });
    expect_error<ArgumentError>(comm, {"-1"}, [&] { halo<double>(layout, {{-1, 0}, {0, 0}}); });
  });
}

}  // namespace weft::test
