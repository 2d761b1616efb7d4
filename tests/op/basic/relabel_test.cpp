#include "op/support/check_operator.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/op/basic/relabel.hpp>

namespace weft::test {
namespace {

/// The positions in a global vector of the elements of a rank, in the order of its memory. The
/// parts of a stack follow one another in both.
std::vector<index_t> positions(const Layout& layout, int rank) {
  std::vector<index_t> all;
  index_t first = 0;
  for_each_leaf_of(layout, [&](const Layout& leaf) {
    for_each_point(leaf.box(rank),
                   [&](const Index& at) { all.push_back(first + position_of(leaf.shape(), at)); });
    first += elements_of(leaf.shape());
  });
  return all;
}

/// The ranks that share this rank's array.
std::vector<int> group_of(const Layout& layout) {
  std::vector<int> ranks;
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    if (layout.is_stack() || layout.group(rank) == layout.group(layout.comm().rank())) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

template <class T>
Expected<T> relabel_matrix(const Layout& from, const Layout& to) {
  std::vector<index_t> source(static_cast<std::size_t>(to.count()), -1);
  for (const int rank : group_of(from)) {
    const std::vector<index_t> old_places = positions(from, rank);
    const std::vector<index_t> new_places = positions(to, rank);
    for (std::size_t i = 0; i < new_places.size(); ++i) {
      source[static_cast<std::size_t>(new_places[i])] = old_places[i];
    }
  }
  return {to.count(), from.count(), [=](index_t row, index_t column) {
            return source[static_cast<std::size_t>(row)] == column ? T{1} : T{};
          }};
}

/// A layout with one axis that gives every rank as many elements as another.
Layout flat_layout(const Layout& layout) {
  const Shape shape{layout.count()};
  if (layout.is_replicated()) return replicated_like(layout, shape);
  std::vector<index_t> extents;
  std::vector<int> groups;
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    extents.push_back(layout.local_count(rank));
    groups.push_back(layout.group(rank));
  }
  const Layout flat = layout.group_count() > 1
                          ? Layout::scatter(layout.comm(), shape).within(groups, extents)
                          : Layout::scatter(layout.comm(), shape, 0, extents);
  return flat.on(layout.device());
}

}  // namespace

TEST(Relabel, keeps_the_memory_of_each_rank) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{5, 6}, Shape{3, 1, 4}, Shape{1}, Shape{0, 3}}) {
        for_operator_layouts<T>(comm, shape, [&](const Layout& from) {
          const Layout to = flat_layout(from);
          const auto expected = relabel_matrix<T>(from, to);
          const auto a = relabel<T>(from, to);
          check_operator(a, expected);
          check_operator(relabel<T>(to, from), relabel_matrix<T>(to, from));
          EXPECT_TRUE(a.normal().is_identity());
        });
      }
    });
  });
}

TEST(Relabel, joins_the_parts_of_a_stack) {
  on_ranks([](Comm comm) {
    const int ranks = comm.size();
    const Layout stack = Layout::stack(
        {Layout::scatter(comm, {ranks, 2}), Layout::scatter(comm, {3, 2 * ranks}, 1)});
    const Layout one = Layout::scatter(comm, {8, ranks}, 1);
    check_operator(relabel<double>(stack, one), relabel_matrix<double>(stack, one));
    check_operator(relabel<double>(one, stack), relabel_matrix<double>(one, stack));
  });
}

TEST(Relabel, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const int ranks = comm.size();
    const Layout layout = Layout::scatter(comm, {ranks, 3});
    std::vector<index_t> extents(static_cast<std::size_t>(ranks), 3);
    extents.back() = 5;
    expect_error<ArgumentError>(
        comm, {"relabel", fmt::format("rank {} has 3 elements of (", ranks - 1), "but 5 of ("},
        [&] { relabel<double>(layout, Layout::scatter(comm, {3 * ranks + 2}, 0, extents)); });
    expect_error<ArgumentError>(comm, {"relabel", "cpu", to_string(other_device())},
                                [&] { relabel<double>(layout, layout.on(other_device())); });
    const Layout with_empty_part = Layout::stack({Layout::replicated(comm, {0}), layout});
    EXPECT_EQ(relabel<double>(with_empty_part, layout).range(), layout);
    if (ranks == 1) return;
    expect_error<ArgumentError>(comm, {"relabel", "replicated"}, [&] {
      relabel<double>(Layout::replicated(comm, {1, 3}), layout);
    });
    expect_error<ArgumentError>(comm, {"relabel", "replicated"},
                                [&] { relabel<double>(layout, Layout::replicated(comm, {3})); });
    expect_error<ArgumentError>(comm, {"relabel", "groups"}, [&] {
      std::vector<int> alone(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) alone[static_cast<std::size_t>(rank)] = rank;
      relabel<double>(layout, Layout::scatter(comm, {3}).within(alone));
    });
    expect_error<ArgumentError>(comm, {"relabel", "communicators"},
                                [&] { relabel<double>(layout, Layout::local({3})); });
  });
}

}  // namespace weft::test
