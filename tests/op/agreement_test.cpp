// Operators constructed from layouts or options that differ between ranks: all ranks throw an error
// that tells how they differ, and none hangs or reads memory out of bounds.

#include "op/support/check_operator.hpp"

#include <weft/op/algebra/kronecker.hpp>
#include <weft/op/basic/flip.hpp>
#include <weft/op/basic/halo.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/redistribute.hpp>
#include <weft/op/basic/regression.hpp>
#include <weft/op/basic/reshape.hpp>
#include <weft/op/basic/roll.hpp>
#include <weft/op/basic/sum_along.hpp>
#include <weft/op/basic/symmetrize.hpp>
#include <weft/op/basic/transpose_axes.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/convolution/convolve_nd.hpp>
#include <weft/op/convolution/downsample.hpp>
#include <weft/op/convolution/gaussian_filter.hpp>
#include <weft/op/convolution/non_stationary_convolve1d.hpp>
#include <weft/op/convolution/non_stationary_convolve_nd.hpp>
#include <weft/op/convolution/non_stationary_filters.hpp>
#include <weft/op/convolution/smoothing.hpp>
#include <weft/op/curves/spread.hpp>
#include <weft/op/fourier/dct.hpp>
#include <weft/op/fourier/fft.hpp>
#include <weft/op/fourier/shift.hpp>
#include <weft/op/integral/causal_integration.hpp>
#include <weft/op/integral/fredholm1.hpp>
#include <weft/op/interpolation/bilinear.hpp>
#include <weft/op/interpolation/interp.hpp>
#include <weft/op/matrix/matrix_mult.hpp>
#include <weft/op/matrix/sparse_matrix.hpp>
#include <weft/op/radon/chirp_radon.hpp>
#include <weft/op/radon/fourier_radon.hpp>
#include <weft/op/stencil/directional_derivative.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/op/stencil/laplacian.hpp>
#include <weft/op/stencil/second_derivative.hpp>
#include <weft/op/wavelet/dwt.hpp>
#include <weft/op/wavelet/swt.hpp>
#include <weft/op/windows/sliding.hpp>

#include "support/disagreement.hpp"

namespace weft::test {
namespace {

using Factory = std::function<void(const Layout&)>;

std::vector<std::pair<std::string, Factory>> factories() {
  using Array = DistributedArray<double>;
  const std::vector<double> filter = {1, 2, 1};
  std::vector<std::pair<std::string, Factory>> all = {
      {"first_derivative", [](const Layout& at) { first_derivative<double>(at, {.axis = 0}); }},
      {"first_derivative", [](const Layout& at) { first_derivative<double>(at, {.axis = 1}); }},
      {"second_derivative", [](const Layout& at) { second_derivative<double>(at, {.axis = 0}); }},
      {"laplacian", [](const Layout& at) { laplacian<double>(at); }},
      {"gradient", [](const Layout& at) { gradient<double>(at); }},
      {"first_directional_derivative",
       [](const Layout& at) {
         first_directional_derivative<double>(at, std::vector<double>{1, 2});
       }},
      {"interp",
       [](const Layout& at) {
         interp<double>(at, {0.5, 1}, {.axis = 0});
       }},
      {"bilinear",
       [](const Layout& at) {
         bilinear<double>(at, {{0.5, 1}, {0, 0}});
       }},
      {"halo",
       [](const Layout& at) {
         halo<double>(at, {{1, 1}, {0, 0}});
       }},
      {"convolve1d",
       [=](const Layout& at) {
         convolve1d<double>(at, filter, {.axis = 0, .method = ConvolutionMethod::direct});
       }},
      {"non_stationary_convolve1d",
       [=](const Layout& at) {
         non_stationary_convolve1d<double>(at, {filter}, {1}, {.axis = 0});
       }},
      {"convolve_nd",
       [=](const Layout& at) {
         convolve_nd<double>(at, {3, 1}, filter, {.method = ConvolutionMethod::direct});
       }},
      {"non_stationary_convolve2d",
       [=](const Layout& at) {
         non_stationary_convolve2d<double>(at, {{3, 1}, {{0}, {0}}, filter});
       }},
      {"non_stationary_filters1d",
       [](const Layout& at) { non_stationary_filters1d<double>(Array(at), 3, {0}); }},
      {"gaussian_filter", [](const Layout& at) { gaussian_filter<double>(at); }},
      {"downsample", [](const Layout& at) { downsample<double>(at); }},
      {"sum_along", [](const Layout& at) { sum_along<double>(at, {.axis = 0}); }},
      {"sum_along", [](const Layout& at) { sum_along<double>(at, {.axis = 1}); }},
      {"flip", [](const Layout& at) { flip<double>(at, {.axis = 0}); }},
      {"roll", [](const Layout& at) { roll<double>(at, {.axis = 1}); }},
      {"symmetrize", [](const Layout& at) { symmetrize<double>(at, {.axis = 0}); }},
      {"causal_integration", [](const Layout& at) { causal_integration<double>(at, {.axis = 0}); }},
      {"smoothing", [](const Layout& at) { smoothing<double>(at, {3}); }},
      {"regression", [](const Layout& at) { regression<double>(Array(at)); }},
      {"spread",
       [](const Layout& at) {
         spread<double>(Layout::replicated(at.comm(), {2, 2}), at,
                        [](index_t, index_t, index_t) { return 0.0; });
       }},
      {"redistribute",
       [](const Layout& at) { redistribute<double>(at, Layout::scatter(at.comm(), at.shape())); }},
      {"reshape",
       [](const Layout& at) { reshape<double>(at, Layout::scatter(at.comm(), {at.count()})); }},
      {"transpose_axes",
       [](const Layout& at) {
         const Layout to = Layout::scatter(at.comm(), {at.shape()[1], at.shape()[0]});
         transpose_axes<double>(at, {1, 0}, {.range = to});
       }},
      {"dwt", [](const Layout& at) { dwt<double>(at, {.axis = 0}); }},
      {"swt", [](const Layout& at) { swt<double>(at, {.axis = 1}); }},
      {"matrix_mult", [](const Layout& at) { matrix_mult(Array(at)); }},
      {"summa", [](const Layout& at) { summa(Array(at)); }},
      {"sparse_matrix",
       [](const Layout& at) {
         const CooMatrix<double> one{{0}, {0}, {2.0}};
         sparse_matrix(one, at, at);
       }},
      {"patch",
       [](const Layout& at) {
         patch(at, identity<double>(Layout::local({2, 2})), {.window = {2}});
       }},
      {"fredholm1",
       [](const Layout& at) {
         const Layout kernel = Layout::scatter(at.comm(), {at.shape()[0], 2, at.shape()[1]}, 0);
         fredholm1(Array(kernel), {.replicated = at.is_replicated()});
       }},
  };
#if defined(WEFT_WITH_FFTW)
  all.push_back({"dct", [](const Layout& at) { dct<double>(at, {.axes = {0}}); }});
  all.push_back({"fft", [](const Layout& at) { fft<double>(at, {.axis = 0}); }});
  all.push_back({"fft", [](const Layout& at) { fft<double>(at, {.axis = 1}); }});
  all.push_back({"fft2d", [](const Layout& at) { fft2d<std::complex<double>>(at); }});
  all.push_back({"shift", [](const Layout& at) { shift<double>(at, {.axis = 0}); }});
  all.push_back({"chirp_radon2d", [](const Layout& at) { chirp_radon2d<double>(at, {}); }});
  all.push_back({"fourier_radon2d", [](const Layout& at) {
                   const std::vector<double> p(static_cast<std::size_t>(at.shape()[0]));
                   fourier_radon2d<double>(at, {.offsets = {1, 2}, .slownesses = p});
                 }});
  all.push_back({"convolve1d", [=](const Layout& at) {
                   convolve1d<double>(at, filter, {.axis = 0, .method = ConvolutionMethod::fft});
                 }});
#endif
  return all;
}

}  // namespace

TEST(Agreement, reports_layouts_that_differ_between_ranks) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const index_t n = 2 * comm.size();
    const Layout first = Layout::scatter(comm, {n, n});
    const std::vector<Layout> others = {Layout::scatter(comm, {n, n}, 1),
                                        Layout::replicated(comm, {n, n}),
                                        Layout::scatter(comm, {n + 64, n})};
    for (const bool checked : {true, false}) {
      comm.check_calls(checked);
      for (const Layout& other : others) {
        for (const auto& [name, factory] : factories()) {
          // The kernels are the same for these two layouts.
          if (name == "fredholm1" && other == others[0]) continue;
          SCOPED_TRACE(name + " of " + to_string(first) + " and " + to_string(other));
          const Layout& mine = comm.rank() == 0 ? other : first;
          expect_disagreement(comm, {name, "rank 0: "}, [&, &make = factory] { make(mine); });
        }
      }
    }
  });
}

TEST(Agreement, reports_options_that_differ_between_ranks) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const Layout layout = Layout::scatter(comm, {2 * comm.size(), 8});
    const int axis = comm.rank() == 0 ? 0 : 1;
    expect_disagreement(comm, {"first_derivative", "axis 0", "axis 1"},
                        [&] { first_derivative<double>(layout, {.axis = axis}); });
    const double position = comm.rank() == 0 ? 0.5 : 0.25;
    expect_disagreement(comm, {"interp", "positions"},
                        [&] { interp<double>(layout, {position}, {.axis = 0}); });
    expect_disagreement(comm, {"sum_along", "axis 0", "axis 1"},
                        [&] { sum_along<double>(layout, {.axis = axis}); });
    expect_disagreement(comm, {"sliding", "axes 0", "axes 1"}, [&] {
      sliding(layout, identity<double>(Layout::local({2, 8})), {axis}, {.window = {2}});
    });
    expect_disagreement(comm, {"dwt", "wavelet haar", "wavelet db2"}, [&] {
      dwt<double>(layout, {.wavelet = comm.rank() == 0 ? "haar" : "db2"});
    });
    expect_disagreement(comm, {"flip", "axis 0", "axis 1"},
                        [&] { flip<double>(layout, {.axis = axis}); });
    expect_disagreement(comm, {"roll", "shift 1", "shift 0"},
                        [&] { roll<double>(layout, {.axis = 0, .shift = axis}); });
    expect_disagreement(comm, {"causal_integration", "kind 0", "kind 1"}, [&] {
      causal_integration<double>(layout, {.kind = static_cast<IntegrationKind>(axis)});
    });
    expect_disagreement(comm, {"smoothing", "lengths [1]", "lengths [3]"},
                        [&] { smoothing<double>(layout, {1 + 2 * axis}); });
    expect_disagreement(comm, {"kronecker", "(4, 3)", "(5, 3)"}, [&] {
      const index_t n = comm.rank() == 0 ? 4 : 5;
      kronecker(identity<double>(Layout::local({n})), identity<double>(Layout::local({3})),
                {.over = comm});
    });
    expect_disagreement(comm, {"f32", "f64"}, [&] {
      if (comm.rank() == 0) {
        laplacian<float>(layout);
      } else {
        laplacian<double>(layout);
      }
    });
#if defined(WEFT_WITH_FFTW)
    expect_disagreement(comm, {"dct", "type 1", "type 2"},
                        [&] { dct<double>(layout, {.type = comm.rank() == 0 ? 1 : 2}); });
    expect_disagreement(comm, {"chirp_radon2d", "pmax 1", "pmax 2"}, [&] {
      chirp_radon2d<double>(layout, {.pmax = comm.rank() == 0 ? 1.0 : 2.0});
    });
    expect_disagreement(comm, {"fft", "[0]", "[1]"}, [&] { fft<double>(layout, {.axis = axis}); });
#endif
  });
}

}  // namespace weft::test
