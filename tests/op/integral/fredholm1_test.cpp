#include <weft/op/integral/fredholm1.hpp>

#include "op/support/check_operator.hpp"
#include "support/allocations.hpp"

#include <weft/core/error.hpp>

namespace weft::test {
namespace {

constexpr int seed = 5;

template <class T>
Expected<T> slices_of(const Shape& G, index_t nz) {
  const Shape model{G[0], G[2], nz};
  const Shape data{G[0], G[1], nz};
  return {data.count(), model.count(), [=](index_t row, index_t column) {
            const Index to = point_at(data, row);
            const Index from = point_at(model, column);
            if (to[0] != from[0] || to[2] != from[2]) return T{};
            return value<T>(position_of(G, {to[0], to[1], from[1]}), seed);
          }};
}

bool cuts_only_slices(const Layout& layout) {
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    const Shape& local = layout.box(rank).shape;
    if (local[1] != layout.shape()[1] || local[2] != layout.shape()[2]) return false;
  }
  return true;
}

}  // namespace

TEST(Fredholm1, matches_matrix_for_distributed_slices) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const auto expected = slices_of<T>({5, 2, 3}, 2);
      for_operator_layouts<T>(comm, {5, 2, 3}, [&](const Layout& layout) {
        if (!cuts_only_slices(layout)) return;
        const auto G = make_array<T>(layout, seed);
        check_operator(fredholm1(G, {.nz = 2}), expected);
        check_operator(fredholm1(G, {.nz = 2, .replicated = true}), expected);
      });
    });
  });
}

TEST(Fredholm1, handles_few_slices) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    for (const Shape& shape : {Shape{1, 3, 2}, Shape{0, 2, 2}, Shape{9, 1, 2}}) {
      const auto G = make_array<T>(Layout::scatter(comm, shape), seed);
      check_operator(fredholm1(G), slices_of<T>(shape, 1));
      check_operator(fredholm1(G, {.replicated = true}), slices_of<T>(shape, 1));
    }
  });
}

TEST(Fredholm1, has_expected_layouts) {
  on_ranks([](Comm comm) {
    const auto G = make_array<double>(Layout::scatter(comm, {9, 2, 3}));
    const auto cut = fredholm1(G, {.nz = 4});
    EXPECT_EQ(cut.domain(), Layout::scatter(comm, {9, 3, 4}));
    EXPECT_EQ(cut.range(), Layout::scatter(comm, {9, 2, 4}));
    const auto whole = fredholm1(G, {.nz = 4, .replicated = true});
    EXPECT_EQ(whole.domain(), Layout::replicated(comm, {9, 3, 4}));
    EXPECT_EQ(whole.range(), Layout::replicated(comm, {9, 2, 4}));
  });
}

TEST(Fredholm1, communicates_only_if_replicated) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto G = make_array<std::complex<float>>(Layout::scatter(comm, {9, 2, 3}));
    for (const bool replicated : {false, true}) {
      const auto F = fredholm1(G, {.nz = 4, .replicated = replicated});
      auto x = make_array<std::complex<float>>(F.domain());
      auto y = make_array<std::complex<float>>(F.range());
      const index_t calls = replicated && comm.size() > 1 ? 1 : 0;
      EXPECT_EQ(calls_of(comm, [&] { F.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(comm.stats()[CallKind::all_gather].calls, calls);
      EXPECT_EQ(calls_of(comm, [&] { F.adjoint(y, x, {2, 3}); }), calls);
      EXPECT_EQ(F.cost().messages, static_cast<double>(calls));
      EXPECT_EQ(F.adjoint_cost().messages, static_cast<double>(calls));
      expect_no_allocation(comm, [&] {
        F.forward(x, y);
        F.adjoint(y, x, {0, 1});
      });
    }
  });
}

TEST(Fredholm1, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto G = make_array<double>(Layout::scatter(comm, {4, 2, 3}));
    expect_error<ArgumentError>(comm, {"fredholm1", "nz", "-1"}, [&] { fredholm1(G, {.nz = -1}); });
    expect_error<ArgumentError>(comm, {"fredholm1", "three axes", "(4, 5)"}, [&] {
      fredholm1(make_array<double>(Layout::scatter(comm, {4, 5})));
    });
    const auto F = fredholm1(G);
    const auto x = make_array<double>(Layout::scatter(comm, {4, 2, 1}));
    auto y = make_array<double>(F.range());
    expect_error<ArgumentError>(comm, {"fredholm1", "(4, 3, 1)", "(4, 2, 1)"},
                                [&] { F.forward(x, y); });
    if (comm.size() == 1) return;
    expect_error<ArgumentError>(comm, {"slices only", "(8, 8, 8)"}, [&] {
      fredholm1(make_array<double>(Layout::scatter(comm, {8, 8, 8}, 1)));
    });
  });
}

}  // namespace weft::test
