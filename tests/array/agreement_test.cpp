// Ranks that build a plan from different arguments: all of them get an error that names the
// differences, before any rank reads memory of another.

#include "array/layouts.hpp"

#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/array/reshape.hpp>
#include <weft/array/roll.hpp>

#include "support/disagreement.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::test {
namespace {

class Agreement : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank cannot disagree with itself";
  }
};

std::string last_rank(const Comm& comm) { return "rank " + std::to_string(comm.size() - 1) + ": "; }

using PlanningCall = std::function<void(const Layout&)>;

std::vector<std::pair<std::string, PlanningCall>> planning_calls(const Comm& comm) {
  using Array = DistributedArray<double>;
  return {
      {"Redistribution",
       [=](const Layout& layout) {
         Redistribution<double>(layout, Layout::replicated(layout.comm(), layout.shape()));
       }},
      {"Redistribution",
       [=](const Layout& layout) {
         Redistribution<double>(Layout::replicated(layout.comm(), layout.shape()), layout);
       }},
      {"Redistribution",
       [=](const Layout& layout) {
         Array(layout).redistribute(Layout::scatter(comm, layout.shape(), 1));
       }},
      {"Redistribution", [](const Layout& layout) { Array(layout).redistribute(layout); }},
      {"Redistribution", [](const Layout& layout) { Array(layout).gather(0); }},
      {"Redistribution", [](const Layout& layout) { Array(layout).all_gather(); }},
      {"Redistribution",
       [=](const Layout& layout) {
         const std::vector<double> values(
             comm.rank() == 0 ? static_cast<std::size_t>(layout.count()) : 0);
         Array::from_root(layout, values, 0);
       }},
      {"reshape",
       [=](const Layout& layout) {
         // Never in place, which needs no plan.
         reshape(Array(layout), Layout::on_rank(comm, {layout.count()}, comm.size() - 1));
       }},
      {"roll", [](const Layout& layout) { roll(Array(layout), 1, 0); }},
      {"HaloExchange",
       [](const Layout& layout) {
         HaloExchange<double>(layout, {{1, 1}, {1, 1}});
       }},
      {"HaloExchange",
       [](const Layout& layout) {
         with_ghost_cells(Array(layout), {{1, 0}, {0, 0}});
       }},
      {"norm_along", [](const Layout& layout) { norm_along(Array(layout), 0); }},
      {"norm_along", [](const Layout& layout) { norm_along(Array(layout), 1); }},
  };
}

}  // namespace

TEST_F(Agreement, differing_layouts_are_reported) {
  on_ranks([](Comm comm) {
    const index_t n = 2 * comm.size();
    const std::vector<std::pair<Layout, Layout>> pairs = {
        {Layout::scatter(comm, {n, n}), Layout::scatter(comm, {n, n}, 1)},
        {Layout::scatter(comm, {n, n}), Layout::scatter(comm, {n + 60, n})},
        {Layout::scatter(comm, {n, n}), Layout::replicated(comm, {n, n})},
        {Layout::scatter(comm, {n, n}), Layout::scatter(comm, {n, n}, 0, thirds(n, comm.size()))},
        {Layout::scatter(comm, {n, n}), Layout::on_rank(comm, {n, n}, 0)},
    };
    for (const bool checked : {true, false}) {
      comm.check_calls(checked);
      for (const auto& [most, last] : pairs) {
        for (const auto& [name, call] : planning_calls(comm)) {
          SCOPED_TRACE(name + " of " + to_string(most) + " and " + to_string(last));
          const bool is_last = comm.rank() + 1 == comm.size();
          expect_disagreement(
              comm, {name, "rank", last_rank(comm), to_string(most), to_string(last), "f64"},
              [&, &plan = call, &a = most, &b = last] { plan(is_last ? b : a); });
        }
      }
    }
  });
}

TEST_F(Agreement, layouts_that_print_alike_are_distinguished) {
  on_ranks([](Comm comm) {
    // to_string() names only the first eight extents, and not the cuts of bricks.
    const Layout one = Layout::scatter(comm, {40, 3});
    const Layout other = Layout::scatter(comm, {40, 3}, 0, dealt(40, comm.size(), 0));
    const bool odd = comm.rank() % 2 == 1;
    expect_disagreement(comm, {"rank", to_string(other)}, [&] {
      HaloExchange<double>(odd ? other : one, {{1, 1}, {0, 0}});
    });
    // If the texts are equal, a number identifies the ranks with the same layout.
    const Layout bricks = Layout::bricks(comm, {40, 3}, {comm.size(), 1});
    const Layout shifted = recut(bricks, 0, [](std::span<const index_t> splits) {
      std::vector<index_t> moved(splits.begin(), splits.end());
      ++moved[1];
      return moved;
    });
    ASSERT_EQ(to_string(bricks), to_string(shifted));
    expect_disagreement(comm, {to_string(bricks), " #"}, [&] {
      HaloExchange<double>(odd ? shifted : bricks, {{1, 1}, {0, 0}});
    });
  });
}

TEST_F(Agreement, types_widths_and_options_are_compared) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4 * comm.size(), 5});
    const bool first = comm.rank() == 0;
    expect_disagreement(comm, {"f32", "c128"}, [&] {
      if (first) {
        HaloExchange<float>(layout, {{1, 1}, {0, 0}});
      } else {
        HaloExchange<std::complex<double>>(layout, {{1, 1}, {0, 0}});
      }
    });
    expect_disagreement(comm, {"{2, 1}", "{1, 1}"}, [&] {
      HaloExchange<float>(layout, {{first ? 2 : 1, 1}, {0, 0}});
    });
    expect_disagreement(comm, {"boundary"}, [&] {
      HaloExchange<float>(layout, {{1, 1}, {0, 0}},
                          {.boundary = first ? Boundary::periodic : Boundary::zero});
    });
    expect_disagreement(comm, {"corners"}, [&] {
      HaloExchange<float>(layout, {{1, 1}, {0, 0}}, {.corners = first});
    });
    expect_disagreement(comm, {"cpu", to_string(other_device())}, [&] {
      HaloExchange<float>(first ? layout : layout.on(other_device()), {{1, 1}, {0, 0}});
    });
    expect_disagreement(comm, {"axis 0", "axis 1"},
                        [&] { norm_along(make_array<double>(layout), first ? 0 : 1); });
    expect_disagreement(comm, {"rank 0"},
                        [&] { make_array<double>(layout).gather(first ? 0 : 1); });
  });
}

TEST_F(Agreement, shifts_are_compared) {
  on_ranks([](Comm comm) {
    const auto x = make_array<float>(Layout::scatter(comm, {4 * comm.size(), 5}));
    expect_disagreement(comm, {"roll", "shift 2 along axis 0", "shift 1 along axis 0"},
                        [&] { roll(x, comm.rank() == 0 ? 2 : 1, 0); });
  });
}

TEST_F(Agreement, groups_are_compared) {
  on_ranks([](Comm comm) {
    std::vector<int> groups(static_cast<std::size_t>(comm.size()));
    groups.back() = comm.rank() == 0 ? 1 : 0;
    expect_disagreement(comm, {"within groups", "rank 0: "},
                        [&] { Layout::scatter(comm, {8}).within(groups); });
    std::fill(groups.begin(), groups.end(), 0);
    groups.back() = 1;
    expect_disagreement(comm, {"replicated", "cut along", "rank 0: "}, [&] {
      (comm.rank() == 0 ? Layout::replicated(comm, {8}) : Layout::scatter(comm, {8}))
          .within(groups);
    });
  });
}

// Checked calls include sums: a rank that has all elements would not take part otherwise.
TEST_F(Agreement, reductions_are_compared_if_calls_are) {
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    const Layout layout =
        comm.rank() == 0 ? Layout::replicated(comm, {8}) : Layout::scatter(comm, {8});
    const auto x = make_array<double>(layout);
    expect_disagreement(comm, {"dot", "replicated"}, [&] { dot(x, x); });
    expect_disagreement(comm, {"sum", "replicated"}, [&] { sum(x); });
    expect_disagreement(comm, {"norm", "replicated"}, [&] { norm(x); });
    expect_disagreement(comm, {"max", "replicated"}, [&] { max(x); });
  });
}

TEST_F(Agreement, plans_of_equal_layouts_are_built) {
  on_ranks([](Comm comm) {
    for_all_layouts(comm, {6, 5}, [](const Layout& layout) {
      EXPECT_NO_THROW(Redistribution<double>(layout, layout));
    });
  });
}

}  // namespace weft::test
