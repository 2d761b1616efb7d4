#include <weft/op/radon/chirp_radon.hpp>

#include "op/support/check_operator.hpp"
#include "op/support/radon_matrix.hpp"
#include "support/allocations.hpp"

#include <weft/core/error.hpp>

#include <limits>

namespace weft::test {
namespace {

/// Minus p h, by definition: the panel sums along t = tau + p h.
double advance_of(const ChirpAxis& axis, index_t n, index_t p, index_t h) {
  const auto slowness = static_cast<double>(p - n / 2) * 2 * axis.pmax / static_cast<double>(n);
  return -slowness * static_cast<double>(h - n / 2) * axis.dx;
}

template <std::floating_point R>
Expected<R> matrix_of(const Shape& shape, const ChirpAxis& x, double dt) {
  const index_t times = shape[1];
  return radon_matrix<R>(
      shape, shape, {dt, times, 0, times / 2 + 1},
      [&](const Index& to, const Index& from) { return advance_of(x, shape[0], to[0], from[0]); });
}

template <std::floating_point R>
void check_2d(const Comm& comm, const Shape& shape, const ChirpAxis& x, double dt) {
  const auto expected = matrix_of<R>(shape, x, dt);
  for_operator_layouts<R>(comm, shape, [&](const Layout& layout) {
    check_operator(chirp_radon2d<R>(layout, x, {.dt = dt}), expected, radon_tolerance<R>());
  });
}

}  // namespace

TEST(ChirpRadon, matches_matrix_of_any_layout) {
  on_ranks([](Comm comm) {
    check_2d<float>(comm, {5, 6}, {.dx = 0.5, .pmax = 0.8}, 0.25);
    check_2d<double>(comm, {4, 7}, {.dx = 0.5, .pmax = 3}, 0.25);
  });
}

TEST(ChirpRadon, matches_matrix_of_any_extents_on_any_device) {
  for (const Device device : {Device::cpu(), other_device()}) {
    for (const Shape& shape : {Shape{1, 4}, Shape{6, 1}, Shape{13, 10}}) {
      const ChirpAxis x{.dx = 0.3, .pmax = 2};
      check_operator(chirp_radon2d<double>(Layout::local(shape).on(device), x),
                     matrix_of<double>(shape, x, 1), 1e-12);
    }
  }
}

TEST(ChirpRadon, matches_matrix_of_three_axes) {
  on_ranks([](Comm comm) {
    const ChirpAxis y{.dx = 0.5, .pmax = 0.6};
    const ChirpAxis x{.dx = 1.5, .pmax = 0.2};
    const Shape shape{3, 4, 5};
    const auto expected =
        radon_matrix<double>(shape, shape, {0.5, 5, 0, 3}, [&](const Index& to, const Index& from) {
          return advance_of(y, 3, to[0], from[0]) + advance_of(x, 4, to[1], from[1]);
        });
    for_operator_layouts<double>(comm, shape, [&](const Layout& layout) {
      check_operator(chirp_radon3d<double>(layout, y, x, {.dt = 0.5}), expected,
                     radon_tolerance<double>());
    });
  });
}

TEST(ChirpRadon, distributes_frequencies) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t two = comm.size() > 1 ? 2 : 0;
    const auto A = chirp_radon2d<float>(Layout::scatter(comm, {10, 40}), {});
    auto x = make_array<float>(A.domain());
    auto y = make_array<float>(A.range());
    EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), two);
    EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), two);
    EXPECT_EQ(A.cost().messages, static_cast<double>(two));
    expect_no_allocation(comm, [&] {
      A.forward(x, y);
      A.adjoint(y, x, {0, 1});
    });
  });
}

TEST(ChirpRadon, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {3, 8});
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
      expect_error<ArgumentError>(comm, {"chirp_radon2d", "dx"},
                                  [&] { chirp_radon2d<double>(layout, {.dx = bad}); });
      expect_error<ArgumentError>(comm, {"chirp_radon2d", "pmax"},
                                  [&] { chirp_radon2d<double>(layout, {.pmax = bad}); });
      expect_error<ArgumentError>(comm, {"chirp_radon2d", "dt"},
                                  [&] { chirp_radon2d<double>(layout, {}, {.dt = bad}); });
    }
    expect_error<ArgumentError>(comm, {"chirp_radon3d", "3 axes", "(3, 8)"},
                                [&] { chirp_radon3d<double>(layout, {}, {}); });
    expect_error<ArgumentError>(comm, {"(0, 8)", "empty"}, [&] {
      chirp_radon2d<double>(Layout::scatter(comm, {0, 8}), {});
    });
  });
}

}  // namespace weft::test
