// Invalid arguments. Every rank gets an error that contains the wrong values, and the ranks can
// continue to work together.

#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <typeinfo>
#include <vector>

namespace weft::test {
namespace {

constexpr index_t huge = index_t{1} << 40;

}  // namespace

TEST(BadInput, shapes) {
  on_ranks([](Comm comm) {
    expect_error(comm, {"-3", "negative"}, [] { Shape{4, -3}; });
    expect_error(comm, {std::to_string(huge), "64 bits"}, [] { Shape{huge, huge}; });
    expect_error(comm, {std::to_string(huge), "64 bits"}, [] { Shape{huge, 0, huge}; });
    expect_error(comm, {"9", "8"}, [] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
  });
}

TEST(BadInput, axes) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto x = make_array<double>(layout);
    for (const int axis : {2, -3, 100}) {
      const std::string name = std::to_string(axis);
      expect_error(comm, {"Layout::scatter", name, "2"}, [&] {
        Layout::scatter(comm, {4, 5}, axis);
      });
      expect_error(comm, {"without_axis", name}, [&] { without_axis(layout, axis); });
      expect_error(comm, {"norm_along", name}, [&] { norm_along(x, axis); });
      expect_error(comm, {"Layout::splits", name}, [&] { layout.splits(axis); });
      expect_error(comm, {"Layout::line_comm", name}, [&] { layout.line_comm(axis); });
    }
    expect_error(comm, {"axis 0"}, [&] { Layout::scatter(comm, Shape()); });
  });
}

TEST(BadInput, extents) {
  on_ranks([](Comm comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<index_t> extents(ranks, 2);
    const index_t sum = 2 * comm.size();
    expect_error(comm, {std::to_string(sum), std::to_string(sum + 1)},
                 [&] { Layout::scatter(comm, {sum + 1}, 0, extents); });
    expect_error(comm, {std::to_string(ranks + 1), std::to_string(ranks)},
                 [&] { Layout::scatter(comm, {sum}, 0, std::vector<index_t>(ranks + 1, 1)); });
    if (comm.size() > 1) {
      expect_error(comm, {std::to_string(ranks - 1), std::to_string(ranks)},
                   [&] { Layout::scatter(comm, {sum}, 0, std::vector<index_t>(ranks - 1, 1)); });
      extents[0] = -1;
      extents[1] = 5;
      expect_error(comm, {"-1"}, [&] { Layout::scatter(comm, {sum}, 0, extents); });
    }
    extents.assign(ranks, std::numeric_limits<index_t>::max());
    if (comm.size() > 1) {
      expect_error(comm, {"extents", std::to_string(extents[0])},
                   [&] { Layout::scatter(comm, {sum}, 0, extents); });
      const Shape long_shape = {extents[0]};
      expect_error(comm, {"extents"}, [&] { Layout::scatter(comm, long_shape, 0, extents); });
    }
  });
}

TEST(BadInput, grids) {
  on_ranks([](Comm comm) {
    const int ranks = comm.size();
    expect_error(comm, {"(1, " + std::to_string(ranks + 1) + ")", std::to_string(ranks)}, [&] {
      Layout::bricks(comm, {9, 9}, {1, ranks + 1});
    });
    expect_error(comm, {"1", "2"}, [&] { Layout::bricks(comm, {9, 9}, {ranks}); });
    expect_error(comm, {"(0, 1)"}, [&] { Layout::bricks(comm, {9, 9}, {0, 1}); });
    expect_error(comm, {"-1"}, [&] { Layout::bricks(comm, {9, 9}, {-1, -ranks}); });
    expect_error(comm, {"without axes"}, [&] { Layout::bricks(comm, Shape()); });
  });
}

TEST(BadInput, ranks) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto x = make_array<double>(layout);
    const auto number = DistributedArray<double>(Layout::replicated(comm, Shape()));
    const std::vector<double> nothing;
    for (const int rank : {-1, comm.size(), 1000}) {
      const std::vector<std::string> words = {std::to_string(rank), std::to_string(comm.size())};
      expect_error(comm, words, [&] { Layout::on_rank(comm, {4, 5}, rank); });
      expect_error(comm, words, [&] { x.gather(rank); });
      expect_error(comm, words, [&] { number.gather(rank); });
      expect_error(comm, words,
                   [&] { DistributedArray<double>::from_root(layout, nothing, rank); });
      expect_error(comm, words, [&] { layout.box(rank); });
      expect_error(comm, words, [&] { layout.local_count(rank); });
      expect_error(comm, words, [&] { layout.coordinates(rank); });
      expect_error(comm, words, [&] { layout.group(rank); });
    }
    expect_error(comm, {"(4, 0)", "(4, 5)"}, [&] { layout.owner({4, 0}); });
    expect_error(comm, {"(0)", "(4, 5)"}, [&] { layout.owner({0}); });
    expect_error(comm, {"0 groups"}, [&] { layout.within({}); });
    const std::vector<int> too_many(static_cast<std::size_t>(comm.size()) + 1);
    expect_error(comm, {std::to_string(comm.size() + 1)}, [&] { layout.within(too_many); });
  });
}

TEST(BadInput, stacks) {
  on_ranks([](Comm comm) {
    const Layout a = Layout::scatter(comm, {4, 5});
    const Layout stack = Layout::stack({a, a});
    const auto x = make_array<double>(stack);
    expect_error(comm, {"at least one"}, [] { Layout::stack({}); });
    expect_error(comm, {"cpu", to_string(other_device())}, [&] {
      Layout::stack({a, a.on(other_device())});
    });
    expect_error(comm, {"2"}, [&] { stack.part(2); });
    expect_error(comm, {"-1"}, [&] { x.part(-1); });
    expect_error(comm, {"0"}, [&] { a.part(0); });
    expect_error(comm, {"stack"}, [&] { stack.shape(); });
    expect_error(comm, {"stack"}, [&] { stack.box(); });
    expect_error(comm, {"stack"}, [&] { x.all_gather(); });
    expect_error(comm, {"stack"}, [&] { x.gather(0); });
    expect_error(comm, {"stack"}, [&] { x.reshape({40}); });
    expect_error(comm, {"stack"}, [&] { norm_along(x, 0); });
    const Layout wide = Layout::scatter(comm, {index_t{1} << 62});
    expect_error(comm, {"Layout::stack", "64 bits"}, [&] { Layout::stack({wide, wide}); });
  });
}

TEST(BadInput, communicators_are_not_mixed) {
  on_ranks([](Comm comm) {
    const Comm other = comm.dup();
    if (comm == other) return;  // there is one communicator of a rank alone
    const std::vector<std::string> words = {"communicator"};
    const Layout here = Layout::scatter(comm, {4, 5});
    const Layout there = Layout::scatter(other, {4, 5});
    const auto x = make_array<double>(here);
    auto y = make_array<double>(there);
    expect_error(comm, words, [&] { y += x; });
    expect_error(comm, words, [&] { copy(x, y); });
    expect_error(comm, words, [&] { dot(x, y); });
    expect_error(comm, words, [&] { axpy_dot(1, x, y, x); });
    expect_error(comm, words, [&] { Layout::stack({here, there}); });
    expect_error(comm, words, [&] { x.redistribute(there); });
    expect_error(comm, words, [&] { HaloExchange<double>(here, {{1, 1}, {1, 1}}).run(y); });
  });
}

TEST(BadInput, devices_are_not_mixed) {
  on_ranks([](Comm comm) {
    const std::vector<std::string> words = {"cpu", to_string(other_device())};
    const Layout here = Layout::scatter(comm, {4, 5});
    const Layout there = here.on(other_device());
    const auto x = make_array<double>(here);
    auto y = make_array<double>(there);
    expect_error(comm, words, [&] { y += x; });
    expect_error(comm, words, [&] { x* y; });
    expect_error(comm, words, [&] { dot(x, y); });
    expect_error(comm, words, [&] { x.redistribute(there); });
    expect_error(comm, words, [&] { HaloExchange<double>(here, {{1, 1}, {1, 1}}).run(y); });
    expect_error<DeviceError>(comm, {to_string(other_device()), "to_host"}, [&] { y.local(); });
    expect_error<DeviceError>(comm, {to_string(other_device()), "to_host"}, [&] { y.view(); });
    expect_error<DeviceError>(comm, {"cuda:99"}, [&] { here.on(Device::cuda(99)); });
  });
}

TEST(BadInput, allocations_that_are_too_large) {
  on_ranks([](Comm comm) {
    // More than any device has, on each rank.
    const index_t rows = index_t{1} << 44;
    const Layout layout = Layout::scatter(comm, {rows * comm.size(), 2}).on(other_device());
    const std::vector<std::string> words = {"out of memory on " + to_string(other_device()),
                                            std::to_string(rows * 2 * 8) + " bytes requested",
                                            "f64", to_string(layout.shape())};
    expect_error<DeviceError>(comm, words, [&] { DistributedArray<double> array(layout); });
    DistributedArray<double> small(Layout::scatter(comm, {10, 2}).on(other_device()));
    EXPECT_EQ(norm(small), 0);
  });
}

TEST(BadInput, layouts_that_differ) {
  on_ranks([](Comm comm) {
    const std::vector<std::string> words = {"(4, 5)", "(5, 4)"};
    const auto x = make_array<double>(Layout::scatter(comm, {4, 5}));
    auto y = make_array<double>(Layout::scatter(comm, {5, 4}));
    expect_error(comm, words, [&] { y += x; });
    expect_error(comm, words, [&] { y -= x; });
    expect_error(comm, words, [&] { x* y; });
    expect_error(comm, words, [&] { copy(x, y); });
    expect_error(comm, words, [&] { dot(x, y); });
    expect_error(comm, words, [&] { axpy_dot(1, x, y, y); });
    expect_error(comm, words, [&] { axpy_dot(1, y, y, x); });
    expect_error(comm, words, [&] { redistribute(x, y); });
    expect_error(comm, {"(4, 5)", "20", "(3, 7)", "21"}, [&] { x.reshape({3, 7}); });
  });
}

TEST(BadInput, counts) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4 * comm.size()});
    auto x = make_array<double>(layout);
    std::vector<double> five(5);
    const index_t all = 4 * comm.size();
    expect_error(comm, {"5", "4"}, [&] { x.from_host(five); });
    expect_error(comm, {"5", "4"}, [&] { ArrayView<double>(layout, five.data(), 5); });
    expect_error(comm, {"-4", "4"}, [&] { ArrayView<double>(layout, five.data(), -4); });
    expect_error(comm, {"memory"}, [&] { ArrayView<double>(layout, nullptr, 4); });
    expect_error(comm, {"5", "4"}, [&] { ConstArrayView<double>(layout, five.data(), 5); });
    expect_error(comm, {"memory"}, [&] { ConstArrayView<double>(layout, nullptr, 4); });
    expect_error(comm, {"5", std::to_string(all)},
                 [&] { DistributedArray<double>::from_global(layout, five); });
    const Layout too_large = Layout::replicated(comm, {huge, huge >> 19});
    expect_error(comm, {std::to_string(too_large.count())},
                 [&] { DistributedArray<double>{too_large}; });
  });
}

TEST(BadInput, wrong_values_on_the_root_fail_on_all_ranks) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {7, 2});
    for (int root = 0; root < comm.size(); ++root) {
      const std::vector<double> mine(comm.rank() == root ? 13 : 0);
      expect_error<AgreedError>(comm, {"13", "14"},
                                [&] { DistributedArray<double>::from_root(layout, mine, root); });
      // Values on a rank that is not the root.
      if (comm.size() == 1) continue;
      const std::vector<double> everywhere(14);
      expect_error<AgreedError>(comm, {"14", "0"}, [&] {
        DistributedArray<double>::from_root(layout, everywhere, root);
      });
    }
  });
}

TEST(BadInput, halos) {
  on_ranks([](Comm comm) {
    using Halo = HaloExchange<float>;
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error(comm, {"6", "axis 1", "5"}, [&] { Halo(layout, {{0, 0}, {6, 1}}); });
    expect_error(comm, {std::to_string(huge), "4"}, [&] { Halo(layout, {{0, huge}, {0, 0}}); });
    expect_error(comm, {"4", "axis 0", "3"}, [&] {
      Halo(layout, {{4, 0}, {0, 0}}, {.boundary = Boundary::reflect});
    });
    expect_error(comm, {"axis 1", "-2"}, [&] { Halo(layout, {{0, 0}, {-2, 0}}); });
    expect_error(comm, {"1 width", "(4, 5)"}, [&] { Halo(layout, {{0, 0}}); });
    expect_error(comm, {"stack"}, [&] { Halo(Layout::stack({layout}), {{0, 0}, {0, 0}}); });
    Halo halo(layout, {{1, 1}, {1, 1}});
    expect_error(comm, {"finish"}, [&] { halo.finish(); });
    expect_error(comm, {"2"}, [&] { halo.width(2); });
    expect_error(comm, {"-3"}, [&] { halo.ghosts(-3, Side::before); });
    expect_error(comm, {"2"}, [&] { halo.ghost_shape(2, Side::after); });
  });
}

TEST(BadInput, norms) {
  on_ranks([](Comm comm) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto x = make_array<double>(Layout::scatter(comm, {4, 5}));
    expect_error(comm, {"norm", "NaN"}, [&] { norm(x, nan); });
    expect_error(comm, {"norm_along", "NaN"}, [&] { norm_along(x, 0, nan); });
    const DistributedArray<double> empty(Layout::scatter(comm, {0, 5}));
    expect_error(comm, {"min", "empty"}, [&] { min(empty); });
    expect_error(comm, {"max", "empty"}, [&] { max(empty); });
  });
}

TEST(BadInput, impossible_reshapes) {
  on_ranks([](Comm comm) {
    const auto x = make_array<double>(Layout::scatter(comm, {1}));
    expect_error(comm, {"reshape", "without axes"}, [&] { x.reshape(Shape()); });
    if (comm.size() == 1) return;
    const auto grouped =
        make_array<double>(Layout::scatter(comm, {6}).within(first_alone(comm.size())));
    expect_error(comm, {"groups", to_string(grouped.layout())}, [&] { grouped.reshape({2, 3}); });
  });
}

TEST(BadInput, places_outside_of_a_layout) {
  on_ranks([](Comm comm) {
    const int ranks = comm.size();
    const Layout layout = Layout::scatter(comm, {6, 5});
    const Layout copies = Layout::replicated(comm, {6, 5});
    for (const Layout& each : {layout, copies}) {
      const index_t rows = each.grid()[0];
      expect_error(comm, {"Layout::rank_at", to_string(Index{rows, 0}), to_string(each.grid())},
                   [&] {
                     each.rank_at({rows, 0});
                   });
      expect_error(comm, {"Layout::rank_at", "(-1, 0)"}, [&] { each.rank_at({-1, 0}); });
      expect_error(comm, {"Layout::rank_at", "(0, 1)"}, [&] { each.rank_at({0, 1}); });
      expect_error(comm, {"Layout::rank_at", "(0)"}, [&] { each.rank_at({0}); });
      expect_error(comm, {"Layout::is_cut", "2"}, [&] { each.is_cut(2); });
      expect_error(comm, {"Layout::is_cut", "-3"}, [&] { each.is_cut(-3); });
      expect_error(comm, {"Layout::is_cut_anywhere", "2"}, [&] { each.is_cut_anywhere(2); });
      expect_error(comm, {"Layout::splits", "99"}, [&] { each.splits(99); });
      for (const int rank : {-1, ranks, 99}) {
        const std::string name = std::to_string(rank);
        expect_error(comm, {"Layout::box", name}, [&] { each.box(rank); });
        expect_error(comm, {name}, [&] { each.local_count(rank); });
        expect_error(comm, {"Layout::coordinates", name}, [&] { each.coordinates(rank); });
        expect_error(comm, {"Layout::group", name}, [&] { each.group(rank); });
      }
      expect_error(comm, {"Layout::owner", "(6, 0)"}, [&] { each.owner({6, 0}); });
      expect_error(comm, {"Layout::owner", "(0)"}, [&] { each.owner({0}); });
      expect_error(comm, {"Layout::part", "0"}, [&] { each.part(0); });
    }
    // Negative axes count from the end.
    EXPECT_EQ(layout.is_cut(-2), ranks > 1);
    EXPECT_FALSE(layout.is_cut(-1));
    EXPECT_EQ(layout.splits(-1).back(), 5);
    expect_error(comm, {"Shape::count", "9"}, [] { Shape({2, 3}).count(0, 9); });
    expect_error(comm, {"Shape::count", "-1"}, [] { Shape({2, 3}).count(-1, 2); });
  });
}

TEST(BadInput, invalid_enumerators) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    auto x = make_array<double>(layout);
    expect_error(comm, {"HaloExchange", "boundary", "4"}, [&] {
      HaloExchange<double>(layout, {{1, 1}, {1, 1}}, {.boundary = static_cast<Boundary>(4)});
    });
    HaloExchange<double> halo(layout, {{1, 1}, {1, 1}});
    expect_error(comm, {"HaloExchange", "side", "2"},
                 [&] { halo.ghosts(0, static_cast<Side>(2)); });
    expect_error(comm, {"HaloExchange", "side", "2"},
                 [&] { halo.ghost_shape(0, static_cast<Side>(2)); });
    expect_error(comm, {"dot", "Conjugate", "2"}, [&] { dot(x, x, static_cast<Conjugate>(2)); });
    expect_error<DeviceError>(comm, {"devices", "7"}, [&] {
      layout.on(Device{static_cast<DeviceKind>(7), 0});
    });
    expect_error(comm, {"allreduce", "reduction", "99"},
                 [&] { comm.allreduce(1.0, static_cast<ReduceOp>(99)); });
    double one = 1;
    expect_error(comm, {"broadcast", "type", "99"}, [&] {
      comm.broadcast(BufferRef(&one, 1, static_cast<DType>(99), Device::cpu()), 0);
    });
  });
}

TEST(BadInput, arrays_without_axes_come_from_a_root) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::replicated(comm, Shape());
    const int root = comm.size() - 1;
    const std::vector<double> value(comm.rank() == root ? 1 : 0, 7.0);
    for (const Layout& each : {layout, layout.on(other_device())}) {
      const auto x = DistributedArray<double>::from_root(each, value, root);
      EXPECT_EQ(x.to_host(), std::vector<double>{7});
      EXPECT_EQ(x.layout(), each);
    }
    expect_error<AgreedError>(comm, {"from_root", "2 values"}, [&] {
      DistributedArray<double>::from_root(layout, std::vector<double>(2), 0);
    });
  });
}

}  // namespace weft::test
