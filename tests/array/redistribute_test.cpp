#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::test {
namespace {

void for_all_pairs(const std::vector<NamedLayout>& all,
                   const std::function<void(const Layout&, const Layout&)>& f) {
  for (const NamedLayout& from : all) {
    for (const NamedLayout& to : all) {
      if (from.layout.comm() != to.layout.comm()) continue;
      SCOPED_TRACE("from " + from.name + " to " + to.name + ", " + to_string(from.layout.shape()));
      f(from.layout, to.layout);
    }
  }
}

/// Whether all ranks already have the elements of their new parts.
bool nothing_moves(const Layout& from, const Layout& to) {
  for (int rank = 0; rank < from.comm().size(); ++rank) {
    if (from.group(rank) != from.group(from.comm().rank())) continue;
    bool has_all = true;
    for_each_point(to.box(rank),
                   [&](const Index& at) { has_all = has_all && from.box(rank).contains(at); });
    if (!has_all) return false;
  }
  return true;
}

std::vector<Layout> parts_of(const Comm& comm, bool first) {
  return {first ? Layout::scatter(comm, {9, 2}) : Layout::scatter(comm, {9, 2}, 1),
          first ? Layout::replicated(comm, {4}) : Layout::scatter(comm, {4}),
          first ? Layout::bricks(comm, {3, 4, 5}) : Layout::on_rank(comm, {3, 4, 5}, 0)};
}

}  // namespace

TEST(Redistribute, between_all_pairs_of_layouts) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{3}, Shape{17}, Shape{4, 0, 3}, Shape{1, 7}, Shape{6, 5, 4}}) {
      for_all_pairs(layouts(comm, shape), [](const Layout& from, const Layout& to) {
        const auto x = make_array<double>(from);
        DistributedArray<double> y(to);
        redistribute(x, y);
        expect_elements(y, local_values<double>(to));
        expect_elements(x, local_values<double>(from));
        expect_elements(x.redistribute(to).redistribute(from), local_values<double>(from));
      });
    }
  });
}

TEST(Redistribute, of_many_dimensions) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{2, 9, 1, 3}, Shape{2, 1, 2, 3, 1, 2, 2, 1}}) {
      const Layout rows = Layout::scatter(comm, shape);
      for_each_layout(layouts(comm, shape), [&](const Layout& to) {
        if (to.comm() != comm) return;
        expect_elements(make_array<float>(rows).redistribute(to), local_values<float>(to));
        expect_elements(make_array<float>(to).redistribute(rows), local_values<float>(rows));
      });
    }
  });
}

TEST(Redistribute, in_all_types_and_on_the_debug_device) {
  on_ranks([](Comm comm) {
    const Shape shape = {5, 6};
    const std::vector<NamedLayout> some = {
        {"rows", Layout::scatter(comm, shape)},
        {"columns", Layout::scatter(comm, shape, 1)},
        {"bricks", Layout::bricks(comm, shape, wide_grid(comm.size(), 2))},
        {"replicated", Layout::replicated(comm, shape)},
        {"thirds", Layout::scatter(comm, shape, 0, thirds(5, comm.size()))}};
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_pairs(some, [](const Layout& from, const Layout& to) {
        for (const Device device : {Device::cpu(), other_device()}) {
          const auto x = make_array<T>(from.on(device));
          const auto y = x.redistribute(to.on(device));
          EXPECT_EQ(y.device(), device);
          expect_elements(y, local_values<T>(to));
          expect_elements(y.redistribute(from.on(device)), local_values<T>(from));
        }
      });
    });
  });
}

TEST(Redistribute, a_plan_is_run_repeatedly) {
  on_ranks([](Comm comm) {
    for_all_pairs(on_devices(layouts(comm, {6, 5})), [](const Layout& from, const Layout& to) {
      if (from.device() != to.device()) return;
      Redistribution<float> plan(from, to);
      Redistribution<float> moved = std::move(plan);
      DistributedArray<float> y(to);
      for (int repeat = 0; repeat < 3; ++repeat) {
        moved.run(make_array<float>(from, repeat), y);
        expect_elements(y, local_values<float>(to, repeat));
      }
    });
  });
}

TEST(Redistribute, of_stacks) {
  on_ranks([](Comm comm) {
    const std::vector<Layout> a = parts_of(comm, true);
    const std::vector<Layout> b = parts_of(comm, false);
    const std::vector<std::pair<Layout, Layout>> pairs = {
        {Layout::stack(a), Layout::stack(b)},
        {Layout::stack(b), Layout::stack(a)},
        {Layout::stack({a[0], Layout::stack({a[1], a[2]})}),
         Layout::stack({b[0], Layout::stack({b[1], b[2]})})}};
    for (const auto& [from, to] : pairs) {
      for (const Device device : {Device::cpu(), other_device()}) {
        SCOPED_TRACE(to_string(from.on(device)) + " to " + to_string(to));
        Redistribution<double> plan(from.on(device), to.on(device));
        DistributedArray<double> y(to.on(device));
        for (int repeat = 0; repeat < 3; ++repeat) {
          plan.run(make_array<double>(from.on(device), repeat), y);
          expect_elements(y, local_values<double>(to, repeat));
        }
      }
    }
  });
}

TEST(Redistribute, makes_one_call_or_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const Shape& shape : {Shape{3}, Shape{1, 7}, Shape{6, 5, 4}}) {
      for_all_pairs(layouts(comm, shape), [](const Layout& from, const Layout& to) {
        const auto x = make_array<double>(from);
        DistributedArray<double> y(to);
        Redistribution<double> plan(from, to);
        from.group_comm().reset_stats();
        plan.run(x, y);
        const Stats stats = from.group_comm().stats();
        const index_t expected = nothing_moves(from, to) ? 0 : 1;
        EXPECT_EQ(stats[CallKind::all_to_all].calls, expected);
        EXPECT_EQ(stats.total().calls, expected);
        expect_elements(y, local_values<double>(to));
      });
    }
  });
}

TEST(Redistribute, of_replicas_and_to_equal_boxes_sends_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto replicated = make_array<float>(Layout::replicated(comm, {6, 5}));
    const auto rows = make_array<float>(Layout::scatter(comm, {6, 5}));
    const std::vector<NamedLayout> all = layouts(comm, {6, 5});
    comm.reset_stats();
    for (const NamedLayout& to : all) {
      if (to.layout.comm() != comm) continue;
      expect_elements(replicated.redistribute(to.layout), local_values<float>(to.layout));
    }
    rows.redistribute(rows.layout());
    rows.redistribute(Layout::bricks(comm, {6, 5}, {comm.size(), 1}));
    EXPECT_EQ(comm.stats().total().calls, 0);
  });
}

TEST(Redistribute, sends_no_more_than_necessary) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Shape shape = {12, 10};
    for_all_pairs(layouts(comm, shape), [&](const Layout& from, const Layout& to) {
      if (from.is_replicated() || is_grouped(from)) return;
      const auto x = make_array<double>(from);
      comm.reset_stats();
      x.redistribute(to);
      index_t leaving = 0;
      for (int peer = 0; peer < comm.size(); ++peer) {
        if (peer == comm.rank()) continue;
        leaving += elements_of(intersect(from.box(), to.box(peer)).shape);
      }
      EXPECT_EQ(comm.stats().total().bytes, 8 * leaving);
    });
  });
}

TEST(Redistribute, large_arrays) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {301, 203});
    const Layout columns = Layout::scatter(comm, {301, 203}, 1);
    const auto x = make_array<std::complex<double>>(rows);
    const auto y = x.redistribute(columns);
    expect_elements(y, local_values<std::complex<double>>(columns));
    expect_elements(y.redistribute(rows), x.to_host());
  });
}

TEST(Redistribute, throws_on_all_ranks) {
  on_ranks([](Comm comm) {
    using Plan = Redistribution<double>;
    const Layout rows = Layout::scatter(comm, {6, 5});
    const Layout columns = Layout::scatter(comm, {6, 5}, 1);
    EXPECT_THROW(Plan(rows, Layout::scatter(comm, {5, 6})), ArgumentError);
    EXPECT_THROW(Plan(rows, columns.on(other_device())), ArgumentError);
    EXPECT_THROW(Plan(rows, Layout::stack({columns})), ArgumentError);
    EXPECT_THROW(Plan(Layout::stack({rows}), Layout::stack({rows, rows})), ArgumentError);
    if (comm.size() > 1) {
      EXPECT_THROW(Plan(rows, Layout::scatter(comm.dup(), {6, 5})), ArgumentError);
      EXPECT_THROW(Plan(rows, Layout::local({6, 5})), ArgumentError);
      Plan plan(rows, columns);
      auto x = make_array<double>(rows);
      auto y = make_array<double>(columns);
      EXPECT_THROW(plan.run(y, y), ArgumentError);
      EXPECT_THROW(plan.run(x, x), ArgumentError);
      plan.run(x, y);
      expect_elements(y, local_values<double>(columns));
    }
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

}  // namespace weft::test
