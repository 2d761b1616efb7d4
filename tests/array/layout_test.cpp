#include "array/layouts.hpp"

#include <weft/array/format.hpp>
#include <weft/array/layout.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

#include "array/layout_queries.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

namespace weft::test {
namespace {

template <class F>
void for_all_blocks(const Comm& comm, F f) {
  for (const Shape& shape : shapes()) for_each_layout(layouts(comm, shape), f);
}

std::vector<int> group_of(const Layout& layout, int rank) {
  std::vector<int> members;
  for (int other = 0; other < layout.comm().size(); ++other) {
    if (layout.group(other) == layout.group(rank)) members.push_back(other);
  }
  return members;
}

/// Expects that the ranks of every group have each element once, or every rank all elements.
void expect_partition(const Layout& layout) {
  const index_t count = elements_of(layout.shape());
  for (int first = 0; first < layout.comm().size(); ++first) {
    const std::vector<int> members = group_of(layout, first);
    if (members.front() != first) continue;
    std::vector<int> owners(static_cast<std::size_t>(count));
    for (const int rank : members) {
      EXPECT_EQ(layout.local_count(rank), elements_of(layout.box(rank).shape));
      for_each_point(layout.box(rank), [&](const Index& at) {
        ++owners[static_cast<std::size_t>(position_of(layout.shape(), at))];
      });
    }
    const int expected = layout.is_replicated() ? static_cast<int>(members.size()) : 1;
    EXPECT_EQ(owners, std::vector<int>(owners.size(), expected)) << "group of rank " << first;
  }
}

Box without_axis(const Box& box, int axis) {
  Index offset = Index::filled(box.shape.ndim() - 1, 0);
  Index extent = offset;
  for (int from = 0, to = 0; from < box.shape.ndim(); ++from) {
    if (from == axis) continue;
    offset[to] = box.offset[from];
    extent[to++] = box.shape[from];
  }
  return {offset, Shape(extent)};
}

/// Copies of a layout share their state.
bool same_object(const Layout& a, const Layout& b) { return &a.comm() == &b.comm(); }

/// Expects cells, ranks and owners that agree with the boxes.
void expect_consistent(const Layout& layout) {
  expect_partition(layout);
  const int me = layout.comm().rank();
  for (const int rank : group_of(layout, me)) {
    if (!layout.is_replicated()) {
      EXPECT_EQ(layout.rank_at(layout.coordinates(rank)), rank);
    }
    for_each_point(layout.box(rank), [&](const Index& at) {
      EXPECT_EQ(layout.owner(at), layout.is_replicated() ? me : rank);
    });
  }
}

}  // namespace

TEST(Layout, recut_keeps_ranks_in_their_cells) {
  on_ranks([](Comm comm) {
    const auto times = [](index_t factor, index_t divisor) {
      return [=](std::span<const index_t> splits) {
        std::vector<index_t> moved;
        for (const index_t split : splits) moved.push_back(split * factor / divisor);
        return moved;
      };
    };
    for_all_blocks(comm, [&](const Layout& layout) {
      for (int axis = 0; axis < layout.ndim(); ++axis) {
        const Layout longer = recut(layout, axis, times(3, 1));
        EXPECT_EQ(longer.shape(), layout.shape().with(axis, 3 * layout.shape()[axis]));
        for (int rank = 0; rank < layout.comm().size(); ++rank) {
          const Box& box = layout.box(rank);
          EXPECT_EQ(longer.box(rank).offset[axis], 3 * box.offset[axis]);
          EXPECT_EQ(longer.box(rank).shape, box.shape.with(axis, 3 * box.shape[axis]));
          EXPECT_EQ(longer.group(rank), layout.group(rank));
        }
        if (layout.count() < 60) expect_consistent(longer);
        EXPECT_EQ(recut(longer, axis, times(1, 3)), layout);
        // The remaining axes are cut as before.
        for (int other = 0; other < layout.ndim(); ++other) {
          const Layout rest = without_axis(longer, other);
          EXPECT_EQ(rest.box().shape, longer.box().shape.without(other));
        }
      }
    });
    const Layout layout = Layout::scatter(comm, {6});
    EXPECT_THROW(recut(layout, 1, times(1, 1)), ArgumentError);
    EXPECT_THROW(recut(layout, 0, [](auto) { return std::vector<index_t>{0}; }), ArgumentError);
    EXPECT_THROW(
        recut(layout, 0, [](auto splits) { return std::vector<index_t>(splits.size(), 1); }),
        ArgumentError);
  });
}

TEST(Layout, permute_axes_moves_no_elements) {
  on_ranks([](Comm comm) {
    for_all_blocks(comm, [&](const Layout& layout) {
      const int n = layout.ndim();
      std::vector<int> axes;  // 1, 2, ..., 0, and back
      std::vector<int> back;
      for (int axis = 0; axis < n; ++axis) axes.push_back((axis + 1) % n);
      for (int axis = 0; axis < n; ++axis) back.push_back((axis + n - 1) % n);
      const Layout turned = permute_axes(layout, axes);
      for (int rank = 0; rank < layout.comm().size(); ++rank) {
        for (int axis = 0; axis < n; ++axis) {
          EXPECT_EQ(turned.box(rank).offset[axis], layout.box(rank).offset[(axis + 1) % n]);
          EXPECT_EQ(turned.box(rank).shape[axis], layout.box(rank).shape[(axis + 1) % n]);
        }
      }
      expect_consistent(turned);
      EXPECT_EQ(permute_axes(turned, back), layout);
      for (int axis = 0; axis < n; ++axis) {
        EXPECT_EQ(without_axis(turned, axis).box().shape, turned.box().shape.without(axis));
      }
    });
    const Layout layout = Layout::scatter(comm, {2, 3});
    EXPECT_THROW(permute_axes(layout, std::vector{0}), ArgumentError);
    EXPECT_THROW(permute_axes(layout, std::vector{0, 0}), ArgumentError);
    EXPECT_THROW(permute_axes(layout, std::vector{0, 2}), ArgumentError);
  });
}

TEST(Layout, boxes_partition_the_array) {
  on_ranks([](Comm comm) {
    for_all_blocks(comm, [](const Layout& layout) {
      expect_partition(layout);
      EXPECT_EQ(layout.count(), elements_of(layout.shape()));
      EXPECT_EQ(layout.local_count(), layout.local_count(layout.comm().rank()));
      EXPECT_EQ(layout.box(), layout.box(layout.comm().rank()));
    });
  });
}

TEST(Layout, parts_are_balanced_with_the_longer_ones_first) {
  on_ranks([](Comm comm) {
    for (const index_t n : {0, 1, 2, 3, 5, 12, 13, 100}) {
      for (const int axis : {0, 1, 2, -1, -2, -3}) {
        const int cut = axis < 0 ? axis + 3 : axis;
        const Shape shape = Shape{2, 3, 4}.with(cut, n);
        const Layout layout = Layout::scatter(comm, shape, axis);
        index_t offset = 0;
        const std::vector<index_t> extents = dealt(n, comm.size());
        for (int rank = 0; rank < comm.size(); ++rank) {
          const index_t extent = extents[static_cast<std::size_t>(rank)];
          Index at = Index::filled(3, 0);
          at[cut] = offset;
          EXPECT_EQ(layout.box(rank), (Box{at, shape.with(cut, extent)}));
          EXPECT_EQ(layout.splits(cut)[static_cast<std::size_t>(rank)], offset);
          offset += extent;
        }
        EXPECT_EQ(layout.grid()[cut], comm.size());
        EXPECT_EQ(Shape(layout.grid()).count(), comm.size());
        EXPECT_EQ(layout.is_cut(cut), comm.size() > 1);
      }
    }
  });
}

TEST(Layout, takes_extents_of_any_length) {
  on_ranks([](Comm comm) {
    for (const std::vector<index_t>& extents :
         {thirds(20, comm.size()), dealt(20, comm.size(), comm.size() > 1 ? 0 : -1)}) {
      const Layout layout = Layout::scatter(comm, {3, 20}, 1, extents);
      index_t offset = 0;
      for (int rank = 0; rank < comm.size(); ++rank) {
        const index_t extent = extents[static_cast<std::size_t>(rank)];
        EXPECT_EQ(layout.box(rank), (Box{{0, offset}, {3, extent}}));
        offset += extent;
      }
    }
    for (int root = 0; root < comm.size(); ++root) {
      const Layout layout = Layout::on_rank(comm, {4, 5}, root);
      for (int rank = 0; rank < comm.size(); ++rank) {
        EXPECT_EQ(layout.local_count(rank), rank == root ? 20 : 0);
      }
    }
  });
}

TEST(Layout, places_in_the_grid_are_in_row_major_order) {
  on_ranks([](Comm comm) {
    for_all_blocks(comm, [](const Layout& layout) {
      const int ranks = layout.comm().size();
      if (layout.is_replicated()) {
        EXPECT_EQ(elements_of(Shape(layout.grid())), 1);
        EXPECT_EQ(layout.coordinates(ranks - 1), Index::filled(layout.ndim(), 0));
        EXPECT_EQ(layout.rank_at(Index::filled(layout.ndim(), 0)), layout.comm().rank());
        return;
      }
      const std::vector<int> members = group_of(layout, layout.comm().rank());
      EXPECT_EQ(elements_of(Shape(layout.grid())), static_cast<index_t>(members.size()));
      for (std::size_t place = 0; place < members.size(); ++place) {
        const int rank = members[place];
        const Index cell = layout.coordinates(rank);
        EXPECT_EQ(cell, point_at(Shape(layout.grid()), static_cast<index_t>(place)));
        EXPECT_EQ(layout.rank_at(cell), rank);
        for (int axis = 0; axis < layout.ndim(); ++axis) {
          const auto splits = layout.splits(axis);
          EXPECT_EQ(static_cast<index_t>(splits.size()), layout.grid()[axis] + 1);
          EXPECT_EQ(splits.front(), 0);
          EXPECT_EQ(splits.back(), layout.shape()[axis]);
          EXPECT_EQ(splits[static_cast<std::size_t>(cell[axis])], layout.box(rank).offset[axis]);
          EXPECT_EQ(splits[static_cast<std::size_t>(cell[axis]) + 1], layout.box(rank).end(axis));
        }
      }
    });
  });
}

TEST(Layout, finds_the_owner_of_every_element) {
  on_ranks([](Comm comm) {
    for_all_blocks(comm, [](const Layout& layout) {
      const int me = layout.comm().rank();
      for_each_point(whole(layout.shape()), [&](const Index& at) {
        int expected = -1;
        for (const int rank : group_of(layout, me)) {
          if (layout.box(rank).contains(at)) expected = rank;
        }
        if (layout.box(me).contains(at)) expected = me;
        EXPECT_EQ(layout.owner(at), expected) << to_string(at);
      });
    });
  });
}

TEST(Layout, automatic_bricks_are_close_to_cubes) {
  on_ranks([](Comm comm) {
    const Index grid = Layout::bricks(comm, {100, 100}).grid();
    const std::map<int, Index> expected = {
        {1, {1, 1}}, {2, {2, 1}}, {3, {3, 1}}, {4, {2, 2}}, {7, {7, 1}}};
    if (expected.contains(comm.size())) {
      EXPECT_EQ(grid, expected.at(comm.size()));
    }
    // A long thin array is only cut along its length.
    EXPECT_EQ(Layout::bricks(comm, {2, 1000, 3}).grid(), (Index{1, comm.size(), 1}));
  });
}

TEST(Layout, groups_have_the_whole_array_each) {
  on_ranks([](Comm comm) {
    const std::vector<int> names = even_and_odd(comm.size());
    const Layout layout = Layout::scatter(comm, {11}).within(names);
    for (int rank = 0; rank < comm.size(); ++rank) EXPECT_EQ(layout.group(rank), rank % 2);
    const int members = (comm.size() + 1 - comm.rank() % 2) / 2;
    EXPECT_EQ(layout.grid(), (Index{members}));
    EXPECT_EQ(layout.box().shape[0], dealt(11, members)[static_cast<std::size_t>(comm.rank() / 2)]);
    EXPECT_EQ(detail::reduction_comm(layout).valid(), members > 1);
    if (members > 1) {
      EXPECT_EQ(detail::reduction_comm(layout).size(), members);
    }
    EXPECT_FALSE(detail::reduction_comm(Layout::replicated(comm, {11})).valid());
  });
}

TEST(Layout, groups_take_extents_of_their_own) {
  on_ranks([](Comm comm) {
    // The first rank of each group takes all but one element for each of the others.
    const std::vector<int> names = even_and_odd(comm.size());
    std::vector<index_t> extents(static_cast<std::size_t>(comm.size()), 1);
    for (int first = 0; first < std::min(2, comm.size()); ++first) {
      const int members = (comm.size() + 1 - first) / 2;
      extents[static_cast<std::size_t>(first)] = 11 - (members - 1);
    }
    const Layout layout = Layout::scatter(comm, {11, 2}).within(names, extents);
    for (int rank = 0; rank < comm.size(); ++rank) {
      EXPECT_EQ(layout.box(rank).shape, (Shape{extents[static_cast<std::size_t>(rank)], 2}));
    }
    EXPECT_EQ(layout.box(comm.size() - 1).end(0), 11);
    extents.front() -= 1;
    EXPECT_THROW(Layout::scatter(comm, {11, 2}).within(names, extents), ArgumentError);
    EXPECT_THROW(Layout::replicated(comm, {11, 2}).within(names, extents), ArgumentError);
  });
}

TEST(Layout, is_equal_if_the_elements_are_at_the_same_places) {
  on_ranks([](Comm comm) {
    const std::vector<NamedLayout> first = layouts(comm, {6, 5, 4});
    const std::vector<NamedLayout> second = layouts(comm, {6, 5, 4});
    for (std::size_t i = 0; i < first.size(); ++i) {
      const Layout& a = first[i].layout;
      EXPECT_EQ(a, second[i].layout) << first[i].name;
      EXPECT_NE(a, a.on(other_device())) << first[i].name;
      EXPECT_EQ(a.on(other_device()), second[i].layout.on(other_device())) << first[i].name;
      EXPECT_EQ(a, a.on(other_device()).on(Device::cpu())) << first[i].name;
      for (std::size_t j = 0; j < first.size(); ++j) {
        const Layout& b = second[j].layout;
        if (a.comm() != b.comm()) continue;
        bool same = true;
        for (int rank = 0; rank < a.comm().size(); ++rank) {
          same = same && a.box(rank) == b.box(rank) && a.group(rank) == b.group(rank);
        }
        EXPECT_EQ(a == b, same) << first[i].name << " and " << first[j].name;
        EXPECT_EQ(detail::hash_of(a) == detail::hash_of(b), same)
            << first[i].name << " and " << first[j].name;
      }
    }
    const Layout rows = Layout::scatter(comm, {6, 5});
    EXPECT_EQ(rows, Layout::bricks(comm, {6, 5}, {comm.size(), 1}));
    EXPECT_EQ(rows, Layout::scatter(comm, {6, 5}, -2));
    EXPECT_EQ(rows, Layout::scatter(comm, {6, 5}, 0, dealt(6, comm.size())));
    EXPECT_NE(rows, Layout::scatter(comm, {5, 6}));
    EXPECT_EQ(rows == Layout::scatter(comm, {6, 5}, 1), comm.size() == 1);
    const Comm other = comm.dup();
    EXPECT_EQ(rows == Layout::scatter(other, {6, 5}), comm == other);
    EXPECT_EQ(comm == other, comm.transport() == "self");
    EXPECT_NE(rows, Layout::stack({rows}));
  });
}

TEST(Layout, is_built_without_messages) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    comm.reset_stats();
    for (const Shape& shape : shapes()) {
      const Layout rows = Layout::scatter(comm, shape);
      const Layout bricks = Layout::bricks(comm, shape).on(other_device());
      const Layout replicated = Layout::replicated(comm, shape);
      EXPECT_EQ(rows == bricks, false);
      EXPECT_EQ(Layout::stack({rows, replicated}), Layout::stack({rows, replicated}));
      for (int axis = 0; axis < shape.ndim(); ++axis) without_axis(replicated, axis);
      to_string(rows);
    }
    EXPECT_EQ(comm.stats().total().calls, 0);
  });
}

TEST(Layout, without_axis_keeps_the_other_axes) {
  on_ranks([](Comm comm) {
    for_all_blocks(comm, [](const Layout& layout) {
      for (int axis = 0; axis < layout.ndim(); ++axis) {
        SCOPED_TRACE("without axis " + std::to_string(axis));
        const Layout rest = without_axis(layout, axis);
        EXPECT_EQ(rest.shape(), without_axis(whole(layout.shape()), axis).shape);
        EXPECT_EQ(rest.device(), layout.device());
        EXPECT_EQ(rest.comm(), layout.comm());
        for (int rank = 0; rank < layout.comm().size(); ++rank) {
          EXPECT_EQ(rest.box(rank), without_axis(layout.box(rank), axis)) << "rank " << rank;
        }
        expect_partition(rest);
        EXPECT_TRUE(same_object(rest, without_axis(layout, axis - layout.ndim())));
        EXPECT_EQ(without_axis(layout.on(other_device()), axis).device(), other_device());
      }
    });
  });
}

TEST(Layout, without_axis_removes_all_axes_in_turn) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {6, 5, 4}), [](const Layout& layout) {
      for (const int axis : {0, 1, -1}) {
        Layout rest = without_axis(layout, axis);
        expect_partition(rest);
        rest = without_axis(rest, 0);
        expect_partition(rest);
        rest = without_axis(rest, 0);
        EXPECT_EQ(rest.shape(), Shape());
        EXPECT_EQ(rest.local_count(), 1);
        EXPECT_FALSE(detail::reduction_comm(rest).valid());
      }
    });
  });
}

TEST(Layout, line_comms_join_the_ranks_of_a_line) {
  on_ranks([](Comm comm) {
    for_all_blocks(comm, [](const Layout& layout) {
      for (int axis = 0; axis < layout.ndim(); ++axis) {
        const Comm line = layout.line_comm(axis);
        EXPECT_EQ(line.valid(), layout.is_cut(axis));
        if (!line.valid()) continue;
        Index cell = layout.coordinates(layout.comm().rank());
        EXPECT_EQ(line.rank(), cell[axis]);
        ASSERT_EQ(line.size(), layout.grid()[axis]);
        std::vector<int> members(static_cast<std::size_t>(line.size()));
        line.all_gather(std::vector<int>{layout.comm().rank()}, members);
        for (cell[axis] = 0; cell[axis] < line.size(); ++cell[axis]) {
          EXPECT_EQ(members[static_cast<std::size_t>(cell[axis])], layout.rank_at(cell));
        }
      }
    });
  });
}

TEST(Layout, copies_share_one_object) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {100});
    const Layout copy = layout;
    EXPECT_TRUE(same_object(copy, layout));
    EXPECT_EQ(&copy.box(), &layout.box());
    EXPECT_EQ(sizeof(Layout), 2 * sizeof(void*));
  });
}

TEST(Layout, takes_its_device_from_the_communicator) {
  on_ranks([](Comm comm) {
    const Comm there = comm.on(other_device());
    for_each_layout(layouts(there, {4, 3}), [&](const Layout& layout) {
      if (layout.comm() != there) return;
      EXPECT_EQ(layout.device(), other_device());
      EXPECT_EQ(without_axis(layout, 0).device(), other_device());
    });
  });
}

TEST(Layout, stacks_are_the_sum_of_their_parts) {
  on_ranks([](Comm comm) {
    const Layout a = Layout::scatter(comm, {5, 3});
    const Layout b = Layout::replicated(comm, {7});
    const Layout pair = Layout::stack({a, b});
    EXPECT_TRUE(pair.is_stack());
    EXPECT_FALSE(a.is_stack());
    EXPECT_EQ(a.part_count(), 0);
    EXPECT_EQ(pair.part_count(), 2);
    EXPECT_EQ(pair.part(0), a);
    EXPECT_EQ(pair.part(1), b);
    EXPECT_EQ(pair.count(), 22);
    EXPECT_EQ(pair.local_count(), a.local_count() + 7);
    EXPECT_EQ(pair.comm(), comm);

    const Layout nested = Layout::stack({pair, a});
    EXPECT_EQ(nested.part_count(), 2);
    EXPECT_EQ(nested.part(0).part(1), b);
    EXPECT_EQ(nested.count(), 37);
    for (int rank = 0; rank < comm.size(); ++rank) {
      EXPECT_EQ(nested.local_count(rank), 2 * a.local_count(rank) + 7);
    }
    EXPECT_EQ(nested, Layout::stack({Layout::stack({a, b}), a}));
    EXPECT_NE(nested, Layout::stack({a, Layout::stack({a, b})}));
    EXPECT_NE(nested, Layout::stack({a, b, a}));

    const Layout there = nested.on(other_device());
    EXPECT_NE(there, nested);
    EXPECT_EQ(there.part(0).part(1).device(), other_device());
    EXPECT_EQ(there.on(Device::cpu()), nested);

    const Layout grouped = nested.within(even_and_odd(comm.size()));
    EXPECT_EQ(grouped.part(1), a.within(even_and_odd(comm.size())));
  });
}

TEST(Layout, is_converted_to_text) {
  on_ranks([](Comm comm) {
    for (const auto& [name, layout] : layouts(comm, {6, 5, 4})) {
      EXPECT_NE(to_string(layout).find("(6, 5, 4)"), std::string::npos) << to_string(layout);
      EXPECT_NE(to_string(layout.on(other_device())).find(to_string(other_device())),
                std::string::npos);
    }
    for (const auto& [name, layout] : stacks(comm)) {
      EXPECT_NE(to_string(layout).find("stack"), std::string::npos) << to_string(layout);
    }
    EXPECT_NE(to_string(Layout::scatter(comm, {6, 5}, 1)).find("axis 1"), std::string::npos);
    const Layout columns = Layout::scatter(comm, {6, 5}, 1);
    EXPECT_EQ(fmt::format("{}", columns), to_string(columns));
    EXPECT_EQ(fmt::format("{} {}", AxisPadding{1, 2}, Boundary::edge), "{1, 2} edge");
  });
}

TEST(Layout, communicators_of_groups_are_released) {
  on_ranks([](Comm comm) {
    // More communicators than an MPI library has at a time: MPICH has 2048.
    const Layout bricks = Layout::bricks(comm, {4, 4}, wide_grid(comm.size(), 2));
    for (int repeat = 0; repeat < 2100; ++repeat) {
      const Layout grouped = bricks.within(first_alone(comm.size()));
      ASSERT_EQ(grouped.count(), 16);
    }
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

}  // namespace weft::test
