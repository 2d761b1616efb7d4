#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/reshape.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

std::vector<std::vector<Shape>> families() {
  return {
      {{24}, {4, 6}, {3, 8}, {2, 1, 3, 4}}, {{35}, {7, 5}, {5, 7}}, {{1}, {1, 1}}, {{0, 5}, {0}}};
}

/// f(from, to) for pairs of layouts of all kinds on one communicator, with as many elements.
void for_all_pairs(const Comm& comm, const std::function<void(const Layout&, const Layout&)>& f) {
  for (const std::vector<Shape>& family : families()) {
    for (const Shape& shape : {family.front(), family[1]}) {
      for (const Shape& other : family) {
        for (const NamedLayout& from : layouts(comm, shape)) {
          for (const NamedLayout& to : layouts(comm, other)) {
            if (from.layout.comm() != to.layout.comm()) continue;
            SCOPED_TRACE("from " + from.name + " " + to_string(shape) + " to " + to.name + " " +
                         to_string(other));
            f(from.layout, to.layout);
          }
        }
      }
    }
  }
}

/// The positions in row-major order of the elements of a rank.
std::vector<index_t> positions(const Layout& layout, int rank) {
  std::vector<index_t> all;
  for_each_point(layout.box(rank),
                 [&](const Index& at) { all.push_back(position_of(layout.shape(), at)); });
  return all;
}

/// Whether every rank has the same elements in the same order.
bool nothing_moves(const Layout& from, const Layout& to) {
  for (int rank = 0; rank < from.comm().size(); ++rank) {
    if (positions(from, rank) != positions(to, rank)) return false;
  }
  return true;
}

/// Whether some rank of this rank's group lacks elements of its new part.
bool needs_messages(const Layout& from, const Layout& to) {
  for (int rank = 0; rank < from.comm().size(); ++rank) {
    if (from.group(rank) != from.group(from.comm().rank())) continue;
    const std::vector<index_t> has = positions(from, rank);
    for (const index_t position : positions(to, rank)) {
      if (std::find(has.begin(), has.end(), position) == has.end()) return true;
    }
  }
  return false;
}

// Views of arrays that are destroyed with the call would dangle.
template <class A>
concept Reshapable = requires(A&& x, const Layout& to) {
  reshape(std::forward<A>(x), to);
  { reshape(std::forward<A>(x), to) } -> std::same_as<ConstArrayView<double>>;
};
using Array = DistributedArray<double>;
static_assert(Reshapable<Array&> && Reshapable<Array> && !Reshapable<const Array>);

}  // namespace

TEST(Reshape, keeps_row_major_order_between_all_pairs_of_layouts) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for_all_pairs(comm, [](const Layout& from, const Layout& to) {
      const auto x = make_array<double>(from);
      from.group_comm().reset_stats();
      const ConstArrayView<double> y = reshape(x, to);
      EXPECT_EQ(from.group_comm().stats().total().calls, needs_messages(from, to) ? 1 : 0);
      EXPECT_EQ(y.layout(), to);
      expect_elements(y, local_values<double>(to));
      EXPECT_EQ(reshapes_in_place(from, to), nothing_moves(from, to));
      if (reshapes_in_place(from, to)) {
        EXPECT_EQ(y.data(), x.data());
      }
    });
  });
}

TEST(Reshape, works_in_all_types_and_on_the_debug_device) {
  on_ranks([](Comm comm) {
    const std::vector<Layout> from = {Layout::scatter(comm, {6, 4}),
                                      Layout::bricks(comm, {6, 4}, wide_grid(comm.size(), 2)),
                                      Layout::replicated(comm, {6, 4})};
    const std::vector<Layout> to = {Layout::scatter(comm, {3, 8}, 1),
                                    Layout::scatter(comm, {24}, 0, thirds(24, comm.size())),
                                    Layout::replicated(comm, {2, 12})};
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Device device : {Device::cpu(), other_device()}) {
        for (const Layout& a : from) {
          for (const Layout& b : to) {
            const auto y = reshape(make_array<T>(a.on(device)), b.on(device));
            EXPECT_EQ(y.device(), device);
            expect_elements(y, local_values<T>(b));
          }
        }
      }
    });
  });
}

TEST(Reshape, keeps_memory_alive_and_gives_write_access) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {2 * comm.size(), 6});
    const Layout split = Layout::scatter(comm, {2 * comm.size(), 3, 2});
    ASSERT_TRUE(reshapes_in_place(rows, split));
    expect_elements(reshape(make_array<double>(rows), split), local_values<double>(split));
    auto x = make_array<double>(rows);
    const ArrayView<double> y = reshape_in_place(x, split);
    EXPECT_EQ(y.data(), x.data());
    y.fill(7.0);
    EXPECT_EQ(x.to_host(), std::vector<double>(12, 7.0));
  });
}

TEST(Reshape, copies_infinities_unchanged) {
  on_ranks([](Comm comm) {
    DistributedArray<std::complex<double>> x(Layout::scatter(comm, {5, 7}));
    const double inf = std::numeric_limits<double>::infinity();
    x.fill(std::complex<double>{inf, -0.0});
    for (const auto& each : reshape(x, Layout::scatter(comm, {7, 5}, 1)).to_host()) {
      EXPECT_EQ(each.real(), inf);
      EXPECT_TRUE(each.imag() == 0 && std::signbit(each.imag()));
    }
  });
}

TEST(Reshape, relabels_the_memory_of_each_rank) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const int ranks = comm.size();
    const auto check = [&](const Layout& from, const Layout& to) {
      for (const Device device : {Device::cpu(), other_device()}) {
        auto x = make_array<float>(from.on(device));
        const float* memory = x.data();
        comm.reset_stats();
        const ConstArrayView<float> y = relabel(std::as_const(x), to.on(device));
        const ArrayView<float> z = relabel(x, to.on(device));
        EXPECT_EQ(comm.stats().total().calls, 0);
        EXPECT_EQ(y.data(), memory);
        EXPECT_EQ(z.data(), memory);
        EXPECT_EQ(y.layout(), to.on(device));
        EXPECT_EQ(relabel(std::move(x), to.on(device)).to_host(), local_values<float>(from));
      }
    };
    check(Layout::scatter(comm, {3, 2 * ranks}, 1), Layout::scatter(comm, {6 * ranks}));
    check(Layout::scatter(comm, {ranks, 0}), Layout::scatter(comm, {0, 3}));
    check(Layout::replicated(comm, {3, 4}), Layout::replicated(comm, {12}));
    check(Layout::stack({Layout::scatter(comm, {ranks, 2}), Layout::scatter(comm, {3 * ranks})}),
          Layout::scatter(comm, {5, ranks}, 1));
  });
}

TEST(Reshape, rejects_bad_arguments_on_all_ranks) {
  on_ranks([](Comm comm) {
    const int ranks = comm.size();
    auto x = make_array<double>(Layout::scatter(comm, {4, 3}));
    const auto expect_refused = [&](const std::vector<std::string>& words,
                                    const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "no error with '" << words.front() << "'";
      } catch (const ArgumentError& error) {
        const std::string text = error.what();
        for (const std::string& word : words) {
          EXPECT_NE(text.find(word), std::string::npos) << text;
        }
      }
      EXPECT_EQ(comm.allreduce(1), ranks);
    };
    const Layout flat = Layout::scatter(comm, {12});
    expect_refused({"reshape", "12", "13"}, [&] { reshape(x, Layout::scatter(comm, {13})); });
    expect_refused({"reshape", "stack"}, [&] { reshape(x, Layout::stack({flat})); });
    expect_refused({"reshape", to_string(other_device())},
                   [&] { reshape(x, flat.on(other_device())); });
    expect_refused({"relabel", to_string(other_device())},
                   [&] { relabel(x, x.layout().on(other_device())); });
    std::vector<index_t> extents(static_cast<std::size_t>(ranks), 0);
    extents.back() = 13;
    const std::string last = fmt::format("rank {} has", ranks == 1 ? 0 : ranks - 1);
    expect_refused({"relabel", "rank", "elements"},
                   [&] { relabel(x, Layout::scatter(comm, {13}, 0, extents)); });
    if (ranks == 1) return;
    // The first ranks agree, and the last one does not.
    std::vector<index_t> ones(static_cast<std::size_t>(ranks), 1);
    auto y = make_array<double>(Layout::scatter(comm, {ranks}, 0, ones));
    ones.back() = 4;
    expect_refused({"relabel", last + " 1 elements", "but 4 of"},
                   [&] { relabel(y, Layout::scatter(comm, {ranks + 3}, 0, ones)); });
    expect_refused({"reshape", "communicators"}, [&] { reshape(x, Layout::local({12})); });
    expect_refused({"reshape_in_place", "move"},
                   [&] { reshape_in_place(x, Layout::on_rank(comm, {12}, ranks - 1)); });
  });
}

}  // namespace weft::test
