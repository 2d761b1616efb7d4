#include <weft/op/mdc.hpp>

#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>

namespace weft::test {
namespace {

constexpr int seed = 5;
constexpr index_t nt = 4;
constexpr index_t nx = 2;
constexpr index_t ny = 3;
constexpr index_t nv = 2;

/// By any matrices instead of those of a Fourier transform, and the first `frequencies` of theirs.
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

TEST(Mdc, between_any_transforms) {
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

TEST(Mdc, complains) {
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
  });
}

}  // namespace weft::test
