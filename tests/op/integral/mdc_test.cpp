#include <weft/op/integral/mdc.hpp>

#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>

#include <cmath>
#include <complex>

namespace weft::test {
namespace {

constexpr int seed = 5;
constexpr index_t nt = 4;
constexpr index_t nx = 2;
constexpr index_t ny = 3;
constexpr index_t nv = 2;

/// The matrix of mdc with arbitrary matrices in place of Fourier transforms, of which it uses the
/// first `frequencies`.
template <class T>
Expected<Real<T>> convolution(index_t frequencies, T factor, bool conjugated) {
  using R = Real<T>;
  const auto of_model = some_matrix<R, T>(nt * ny * nv, nt * ny * nv, 1);
  const auto of_data = some_matrix<R, T>(nt * nx * nv, nt * nx * nv, 2);
  const auto at = [](index_t i) { return static_cast<std::size_t>(i); };
  std::vector<std::vector<R>> columns;
  for (index_t column = 0; column < nt * ny * nv; ++column) {
    std::vector<R> unit(at(nt * ny * nv));
    unit[at(column)] = 1;
    const std::vector<T> in = of_model.forward(unit);
    std::vector<T> out(at(nt * nx * nv));
    for (index_t f = 0; f < frequencies; ++f) {
      for (index_t x = 0; x < nx; ++x) {
        for (index_t y = 0; y < ny; ++y) {
          const T entry = value<T>((f * nx + x) * ny + y, seed);
          for (index_t v = 0; v < nv; ++v) {
            out[at((f * nx + x) * nv + v)] +=
                factor * (conjugated ? std::conj(entry) : entry) * in[at((f * ny + y) * nv + v)];
          }
        }
      }
    }
    columns.push_back(of_data.adjoint(out));
  }
  return {nt * nx * nv, nt * ny * nv,
          [&](index_t row, index_t column) { return columns[at(column)][at(row)]; }};
}

}  // namespace

TEST(Mdc, matches_matrix_with_given_transforms) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    for (const index_t frequencies : {3, 4}) {
      for (const int axis : {0, 1}) {
        const Layout model = Layout::scatter(comm, {nt, ny, nv}, axis);
        const Layout data = Layout::scatter(comm, {nt, nx, nv}, axis);
        const auto F = some_operator<double, T>(model, model, 1);
        const auto F1 = some_operator<double, T>(data, data, 2);
        const auto G = make_array<T>(Layout::scatter(comm, {frequencies, nx, ny}), seed);
        // The weight of nt = 4 is 2.
        check_operator(mdc(G, F, F1), convolution<T>(frequencies, 2, false));
        check_operator(mdc(G, F, F1, {.dt = 0.5, .dr = 3}), convolution<T>(frequencies, 3, false));
        check_operator(mdc(G, F, F1, {.conj = true, .prescaled = true}),
                       convolution<T>(frequencies, 1, true));
      }
    }
  });
}

#ifdef WEFT_WITH_FFTW

// mdc with the orthonormal Fourier transform of g(t, x, y) as kernel is dt dr times the circular
// convolution with g in time. With times on both sides of zero, time zero is the middle of the
// model.
TEST(Mdc, is_a_convolution_in_time) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    for (const index_t times : {5, 7}) {
      for (const bool twosided : {false, true}) {
        const auto g = [](index_t t, index_t x, index_t y) {
          return static_cast<double>((3 * t + 5 * x + 7 * y) % 11 - 4);
        };
        const double step = -2 * std::acos(-1.0) / static_cast<double>(times);
        DistributedArray<T> G(Layout::scatter(comm, {times / 2 + 1, nx, ny}));
        G.fill([&](Index at) {
          T sum = 0;
          for (index_t t = 0; t < times; ++t) {
            sum += g(t, at[1], at[2]) * std::exp(T(0, step * static_cast<double>(at[0] * t)));
          }
          return sum / std::sqrt(static_cast<double>(times));
        });
        const index_t zero = twosided ? times / 2 : 0;
        const Expected<double> matrix(
            times * nx * nv, times * ny * nv, [&](index_t row, index_t column) {
              if (row % nv != column % nv) return 0.0;
              const index_t lag = row / (nx * nv) - (column / (ny * nv) - zero);
              return 1.5 * g((lag + times) % times, row / nv % nx, column / nv % ny);
            });
        check_operator(mdc(G, {.nt = times, .nv = nv, .twosided = twosided}, {.dt = 0.5, .dr = 3}),
                       matrix, 1e-13);
      }
    }
  });
}

TEST(Mdc, communicates_by_two_redistributions) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto G = make_array<std::complex<double>>(Layout::scatter(comm, {3, nx, ny}), seed);
    const auto A = mdc(G, {.nt = 5, .nv = nv});
    const auto x = make_array<double>(A.domain(), 1);
    auto y = make_array<double>(A.range(), 2);
    comm.reset_stats();
    A.forward(x, y);
    const CallStats& exchanges = comm.stats()[CallKind::all_to_all];
    EXPECT_EQ(exchanges.calls, comm.size() == 1 ? 0 : 2);
    EXPECT_EQ(comm.stats().total().calls, exchanges.calls);
  });
}

#endif

TEST(Mdc, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    using T = std::complex<float>;
    const Layout model = Layout::scatter(comm, {nt, ny, nv}, 1);
    const auto F = some_operator<float, T>(model, model, 1);
    const auto G = make_array<T>(Layout::scatter(comm, {nt, nx, ny}), seed);
    expect_error<ArgumentError>(comm, {"mdc", "data", "(4, 3, 2)", "(4, 2, 2)"},
                                [&] { mdc(G, F, F); });
    const Layout flat = Layout::replicated(comm, {nt});
    const auto F1 = some_operator<float, T>(flat, flat, 1);
    expect_error<ArgumentError>(comm, {"mdc", "three axes", "(4)"}, [&] { mdc(G, F1, F1); });
    expect_error<ArgumentError>(comm, {"mdc", "nt must be odd", "got 6"},
                                [&] { mdc(G, {.nt = 6}); });
    expect_error<ArgumentError>(comm, {"mdc", "4 frequencies", "3"}, [&] { mdc(G, {.nt = 5}); });
  });
}

}  // namespace weft::test
