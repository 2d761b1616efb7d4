// Layouts within groups of ranks: equality, queries, and groups that work independently.

#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

#include "array/layout_queries.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<int> one_group(const Comm& comm) {
  return std::vector<int>(static_cast<std::size_t>(comm.size()), 7);
}

/// Layouts of all kinds, within the groups.
std::vector<Layout> kinds(const Comm& comm, const std::vector<int>& groups) {
  const Shape shape{8, 6};
  return {
      Layout::scatter(comm, shape).within(groups), Layout::scatter(comm, shape, 1).within(groups),
      Layout::bricks(comm, shape).within(groups), Layout::replicated(comm, shape).within(groups)};
}

}  // namespace

TEST(Groups, are_part_of_equality) {
  on_ranks([](Comm comm) {
    if (comm.size() < 4) return;
    // Both have the first half of the array on ranks 0 and 1, the second on ranks 2 and 3.
    std::vector<int> a(static_cast<std::size_t>(comm.size()), 2);
    std::vector<int> b = a;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      a[rank] = std::vector<int>{0, 1, 0, 1}[rank];
      b[rank] = std::vector<int>{0, 1, 1, 0}[rank];
    }
    const std::vector<Layout> first = kinds(comm, a);
    const std::vector<Layout> second = kinds(comm, b);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_NE(first[i], second[i]) << to_string(first[i]);
      EXPECT_NE(detail::hash_of(first[i]), detail::hash_of(second[i])) << to_string(first[i]);
      EXPECT_NE(to_string(first[i]), to_string(second[i]));
      const auto x = make_array<double>(first[i]);
      const auto y = make_array<double>(second[i]);
      EXPECT_THROW(dot(x, y), ArgumentError);
      EXPECT_THROW(dot(y, x), ArgumentError);
      EXPECT_THROW(x + y, ArgumentError);
    }
  });
}

TEST(Groups, of_replicas_differ_from_replicas_of_all_ranks) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const Layout all = Layout::replicated(comm, {8});
    EXPECT_NE(all, all.within(even_and_odd(comm.size())));
    EXPECT_NE(detail::hash_of(all), detail::hash_of(all.within(even_and_odd(comm.size()))));
  });
}

TEST(Groups, names_of_groups_do_not_matter) {
  on_ranks([](Comm comm) {
    std::vector<int> other = even_and_odd(comm.size());
    for (int& name : other) name = 100 - 3 * name;
    const std::vector<Layout> first = kinds(comm, even_and_odd(comm.size()));
    const std::vector<Layout> second = kinds(comm, other);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i], second[i]) << to_string(first[i]);
      EXPECT_EQ(detail::hash_of(first[i]), detail::hash_of(second[i])) << to_string(first[i]);
    }
  });
}

TEST(Groups, one_group_of_all_ranks_is_an_ordinary_layout) {
  on_ranks([](Comm comm) {
    const std::vector<Layout> plain = {
        Layout::scatter(comm, {8, 6}), Layout::scatter(comm, {8, 6}, 1),
        Layout::bricks(comm, {8, 6}), Layout::replicated(comm, {8, 6})};
    const std::vector<Layout> grouped = kinds(comm, one_group(comm));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(to_string(plain[i]));
      EXPECT_EQ(plain[i], grouped[i]);
      EXPECT_EQ(detail::hash_of(plain[i]), detail::hash_of(grouped[i]));
      EXPECT_EQ(to_string(plain[i]), to_string(grouped[i]));
      EXPECT_EQ(plain[i].group_comm(), grouped[i].group_comm());
      EXPECT_EQ(detail::reduction_comm(plain[i]), detail::reduction_comm(grouped[i]));
      EXPECT_FALSE(grouped[i].is_within_groups());
      const auto x = make_array<double>(plain[i]);
      const auto y = make_array<double>(grouped[i]);
      EXPECT_EQ(dot(x, y), dot(y, x));
      EXPECT_EQ(y.reshape({6, 8}).all_gather(), x.all_gather());
      EXPECT_EQ(y.reshape({6, 8}).layout(), x.reshape({6, 8}).layout());
      EXPECT_EQ(without_axis(grouped[i], 0), without_axis(plain[i], 0));
    }
    const Layout stack = Layout::stack(plain);
    EXPECT_EQ(stack.within(one_group(comm)), stack);
    EXPECT_FALSE(stack.within(one_group(comm)).is_within_groups());
  });
}

TEST(Groups, are_kept_when_replicas_are_reshaped) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::replicated(comm, {8, 6}).within(even_and_odd(comm.size()));
    const auto x = make_array<double>(layout);
    const Layout expected = Layout::replicated(comm, {48}).within(even_and_odd(comm.size()));
    EXPECT_EQ(x.reshape({48}).layout(), expected);
    expect_elements(x.reshape({48}), x.to_host());
    EXPECT_EQ(replicated_like(layout, {3}),
              Layout::replicated(comm, {3}).within(even_and_odd(comm.size())));
    EXPECT_EQ(replicated_like(layout.on(other_device()), {3}).device(), other_device());
  });
}

TEST(Groups, queries_agree_on_all_ranks) {
  on_ranks([](Comm comm) {
    // Rank 0 has all of its array; the other ranks, if there are several, cut theirs.
    const int ranks = comm.size();
    const Layout uneven = Layout::scatter(comm, {8, 6}, 1).within(first_alone(ranks));
    EXPECT_EQ(uneven.is_cut(1), comm.rank() > 0 && ranks > 2);
    EXPECT_EQ(uneven.is_cut_anywhere(1), ranks > 2);
    EXPECT_EQ(uneven.is_cut_anywhere(-1), ranks > 2);
    EXPECT_FALSE(uneven.is_cut_anywhere(0));
    EXPECT_EQ(uneven.group_count(), ranks > 1 ? 2 : 1);
    EXPECT_EQ(uneven.is_within_groups(), ranks > 1);

    const Layout plain = Layout::scatter(comm, {8, 6});
    EXPECT_EQ(plain.is_cut_anywhere(0), ranks > 1);
    EXPECT_EQ(plain.group_count(), 1);
    EXPECT_FALSE(plain.is_within_groups());
    const Layout copies = Layout::replicated(comm, {8, 6});
    EXPECT_FALSE(copies.is_cut_anywhere(0) || copies.is_cut_anywhere(1));
    EXPECT_EQ(copies.within(even_and_odd(ranks)).is_within_groups(), ranks > 1);
    EXPECT_FALSE(copies.within(even_and_odd(ranks)).is_cut_anywhere(0));

    EXPECT_EQ(Layout::stack({plain, Layout::stack({copies, uneven})}).is_within_groups(),
              ranks > 1);
    EXPECT_FALSE(Layout::stack({plain, copies}).is_within_groups());
    EXPECT_FALSE(Layout::local({3}).is_within_groups());
  });
}

// Results of a group must not depend on the elements of another.
TEST(Groups, have_results_of_their_own) {
  on_ranks([](Comm comm) {
    for (const Layout& layout : kinds(comm, even_and_odd(comm.size()))) {
      SCOPED_TRACE(to_string(layout));
      const double mine = comm.rank() % 2 == 0 ? 3 : 5;
      DistributedArray<double> x(layout);
      x.fill(mine);
      EXPECT_EQ(min(x), mine);
      EXPECT_EQ(max(x), mine);
      EXPECT_EQ(sum(x), 48 * mine);
      EXPECT_EQ(dot(x, x), 48 * mine * mine);
      EXPECT_EQ(norm(x, 0), 48);
      EXPECT_EQ(norm(x, 1), 48 * mine);
      EXPECT_DOUBLE_EQ(norm(x), std::sqrt(48) * mine);
      EXPECT_DOUBLE_EQ(norm(x, 3), std::cbrt(48) * mine);
      EXPECT_DOUBLE_EQ(norm(x, -1), mine / 48);
      EXPECT_EQ(norm(x, inf), mine);
      EXPECT_EQ(norm(x, -inf), mine);
      EXPECT_DOUBLE_EQ(max(norm_along(x, 0)), std::sqrt(8) * mine);
      EXPECT_DOUBLE_EQ(min(norm_along(x, 1)), std::sqrt(6) * mine);
    }
  });
}

TEST(Groups, do_not_wait_for_others) {
  on_ranks([](Comm comm) {
    for (const Layout& layout : kinds(comm, even_and_odd(comm.size()))) {
      SCOPED_TRACE(to_string(layout));
      const auto x = make_array<double>(layout, 1);
      const std::vector<double> all = global_values<double>(layout, 1);
      comm.barrier();
      if (comm.rank() % 2 == 0) {
        EXPECT_EQ(min(x), *std::min_element(all.begin(), all.end()));
        EXPECT_EQ(max(x), *std::max_element(all.begin(), all.end()));
        EXPECT_EQ(sum(x), std::accumulate(all.begin(), all.end(), 0.0));
        dot(x, x);
        for (const double order : {0.0, 1.0, 2.0, 3.0, -1.0, inf, -inf}) norm(x, order);
        norm_along(x, 0);
        norm_along(x, 1, 3);
        with_ghost_cells(x, {{1, 1}, {1, 1}});
        EXPECT_EQ(x.all_gather(), all);
        expect_elements(x.redistribute(layout), x.to_host());
      }
      comm.barrier();
    }
  });
}

// The parts have the same groups, but each has communicators of its own.
TEST(Groups, of_parts_may_be_formed_separately) {
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    const auto parts = [&](int axis) {
      const Layout layout = Layout::scatter(comm, {6, 5}, axis);
      return Layout::stack({layout.within(first_alone(comm.size())),
                            Layout::stack({layout.within(first_alone(comm.size()))})});
    };
    const Layout rows = parts(0);
    const Layout columns = parts(1);
    const auto x = make_array<double>(rows);
    for (int repeat = 0; repeat < 3; ++repeat) {
      expect_elements(x.redistribute(columns), local_values<double>(columns));
      const std::vector<double> all = global_values<double>(rows);
      EXPECT_EQ(sum(x), std::accumulate(all.begin(), all.end(), 0.0));
      EXPECT_EQ(comm.allreduce(1), comm.size());
    }
  });
}

// Sums overflow in one group only: the groups must not wait for each other.
TEST(Groups, may_differ_in_overflow) {
  on_ranks([](Comm comm) {
    const Layout grouped = Layout::scatter(comm, {8}).within(even_and_odd(comm.size()));
    const Layout common = Layout::scatter(comm, {8});
    DistributedArray<double> x(Layout::stack({grouped, common}));
    for (const double tiny : {0.0, 1e-200}) {
      const double mine = comm.rank() % 2 == 0 ? tiny : 2;
      x.part(0).fill(mine);
      x.part(1).fill(1);
      EXPECT_DOUBLE_EQ(norm(x), std::sqrt(8 + 8 * mine * mine));
      EXPECT_DOUBLE_EQ(norm(x, 3), std::cbrt(8 + 8 * mine * mine * mine));
      x.part(1).fill(1e200);
      EXPECT_DOUBLE_EQ(norm(x), std::sqrt(8) * 1e200);
      EXPECT_DOUBLE_EQ(norm(x, 3), std::cbrt(8) * 1e200);
      x.part(1).fill(tiny);
      EXPECT_DOUBLE_EQ(norm(x), std::sqrt(8) * std::hypot(mine, tiny));
    }
  });
}

}  // namespace weft::test
