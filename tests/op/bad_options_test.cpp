// Invalid options: NaN and other invalid numbers, invalid enumerators, and moved-from operators.

#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/halo.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/pad.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/dense_matrix.hpp>
#include <weft/op/dot_test.hpp>
#include <weft/op/fourier/fft.hpp>
#include <weft/op/integral/mdc.hpp>
#include <weft/op/stencil/directional_derivative.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/op/stencil/laplacian.hpp>
#include <weft/op/stencil/second_derivative.hpp>
#include <weft/op/windows/sliding.hpp>

#include <limits>

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr index_t most = std::numeric_limits<index_t>::max();

}  // namespace

TEST(BadOptions, rejects_invalid_numbers) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    for (const double bad : {nan, inf, 0.0}) {
      expect_error<ArgumentError>(comm, {"first_derivative", "sampling"},
                                  [&] { first_derivative<double>(layout, {.sampling = bad}); });
      expect_error<ArgumentError>(comm, {"second_derivative", "sampling"},
                                  [&] { second_derivative<double>(layout, {.sampling = bad}); });
      expect_error<ArgumentError>(comm, {"gradient", "sampling"}, [&] {
        gradient<double>(layout, {.sampling = {1, bad}});
      });
      expect_error<ArgumentError>(comm, {"laplacian", "sampling"}, [&] {
        laplacian<double>(layout, {.sampling = {1, bad}});
      });
    }
    // Second differences are divided by its square, which underflows to zero.
    expect_error<ArgumentError>(comm, {"second_derivative", "too small"},
                                [&] { second_derivative<double>(layout, {.sampling = 1e-200}); });
    expect_error<ArgumentError>(comm, {"laplacian", "weight"}, [&] {
      laplacian<double>(layout, {.weights = {nan, 1}});
    });
    expect_error<ArgumentError>(comm, {"dot_test", "tolerance"},
                                [&] { dot_test(identity<double>(layout), {.tolerance = nan}); });
    expect_error<ArgumentError>(comm, {"dot_test", "tolerance"},
                                [&] { dot_test(identity<double>(layout), {.tolerance = -1}); });
  });
}

#if defined(WEFT_WITH_FFTW)
TEST(BadOptions, rejects_invalid_numbers_of_transforms) {
  on_ranks([](Comm comm) {
    using Z = std::complex<double>;
    const Layout frequencies = Layout::scatter(comm, {3, 2, 4});
    for (const double bad : {nan, inf, 0.0, -1.0}) {
      const auto make = [&](const MdcOptions& options) {
        mdc<double>(make_array<Z>(frequencies), MdcTimes{.nt = 5}, options);
      };
      expect_error<ArgumentError>(comm, {"mdc", "dt"}, [&] { make({.dt = bad}); });
      expect_error<ArgumentError>(comm, {"mdc", "dr"}, [&] { make({.dr = bad}); });
      EXPECT_NO_THROW(make({.dt = bad, .prescaled = true}));
      expect_error<ArgumentError>(comm, {"fft", "sampling"}, [&] {
        fft<double>(Layout::scatter(comm, {6, 5}), {.sampling = bad});
      });
    }
  });
}

TEST(BadOptions, rejects_invalid_enumerators_of_transforms) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    expect_error<ArgumentError>(comm, {"fft", "FftNorm", "3"},
                                [&] { fft<double>(layout, {.norm = static_cast<FftNorm>(3)}); });
    expect_error<ArgumentError>(comm, {"fft", "FftPlanning", "7"}, [&] {
      fft<double>(layout, {.planning = static_cast<FftPlanning>(7)});
    });
  });
}
#endif

TEST(BadOptions, rejects_invalid_enumerators) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    const auto kind = static_cast<DerivativeKind>(3);
    expect_error<ArgumentError>(comm, {"first_derivative", "DerivativeKind", "3"},
                                [&] { first_derivative<double>(layout, {.kind = kind}); });
    expect_error<ArgumentError>(comm, {"second_derivative", "DerivativeKind", "3"},
                                [&] { second_derivative<double>(layout, {.kind = kind}); });
    expect_error<ArgumentError>(comm, {"gradient", "DerivativeKind", "3"},
                                [&] { gradient<double>(layout, {.kind = kind}); });
    expect_error<ArgumentError>(comm, {"first_directional_derivative", "DerivativeKind"}, [&] {
      first_directional_derivative<double>(layout, std::vector<double>{1, 1}, {.kind = kind});
    });
    expect_error<ArgumentError>(comm, {"laplacian", "DerivativeKind", "3"},
                                [&] { laplacian<double>(layout, {.kind = kind}); });
    expect_error<ArgumentError>(comm, {"halo", "boundary", "9"}, [&] {
      halo<double>(layout, {{1, 1}, {1, 1}}, {.boundary = static_cast<Boundary>(9)});
    });
    expect_error<ArgumentError>(comm, {"sliding2d", "Taper", "4"}, [&] {
      sliding2d(layout, identity<double>(Layout::local({2, 5})),
                {.window = {2}, .taper = static_cast<Taper>(4)});
    });
    const std::vector<double> filter = {1, 2};
    expect_error<ArgumentError>(comm, {"convolve1d", "ConvolutionMethod", "5"}, [&] {
      convolve1d<double>(layout, filter, {.method = static_cast<ConvolutionMethod>(5)});
    });
  });
}

TEST(BadOptions, rejects_invalid_widths) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    expect_error<ArgumentError>(comm, {"halo", "negative", "-1"}, [&] {
      halo<double>(layout, {{-1, 0}, {0, 0}});
    });
    expect_error<ArgumentError>(comm, {"halo", std::to_string(most)}, [&] {
      halo<double>(layout, {{most, most}, {0, 0}});
    });
    expect_error<ArgumentError>(comm, {"pad", std::to_string(most)}, [&] {
      pad<double>(layout, {{most, 0}, {0, 0}});
    });
    expect_error<ArgumentError>(comm, {"-2"}, [] { DenseMatrix<double>(-2, 3); });
    expect_error<ArgumentError>(comm, {"64 bits"}, [] { DenseMatrix<double>(most, 3); });
  });
}

TEST(BadOptions, rejects_moved_from_operators) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    const auto x = make_array<double>(layout);
    auto a = identity<double>(layout);
    const auto b = std::move(a);
    const std::vector<std::string> words = {"operator has been moved from"};
    // NOLINTBEGIN(bugprone-use-after-move)
    expect_error<ArgumentError>(comm, words, [&] { a* x; });
    expect_error<ArgumentError>(comm, words, [&] { a.describe(); });
    expect_error<ArgumentError>(comm, words, [&] { a.domain(); });
    expect_error<ArgumentError>(comm, words, [&] { a.cost(); });
    expect_error<ArgumentError>(comm, words, [&] { adjoint(a); });
    expect_error<ArgumentError>(comm, words, [&] { a* b; });
    expect_error<ArgumentError>(comm, words, [&] { dot_test(a); });
    // NOLINTEND(bugprone-use-after-move)
    a = b;
    expect_elements(a * x, x.to_host());
  });
}

}  // namespace weft::test
