#include "op/support/check_operator.hpp"
#include "op/support/fourier_matrix.hpp"

#include <weft/core/error.hpp>
#include <weft/op/fourier/fft.hpp>

#include "support/allocations.hpp"

namespace weft::test {
namespace {

/// The matrix for options with one value per axis, or none.
template <Scalar D>
Expected<D, Spectrum<D>> matrix_of(const Shape& shape, const FftNdOptions& options) {
  std::vector<FourierAxis> axes;
  double elements = 1;
  for (std::size_t i = 0; i < options.axes.size(); ++i) {
    const int axis = options.axes[i];
    const auto is_set = [&](const std::vector<bool>& flags) { return !flags.empty() && flags[i]; };
    axes.push_back({.axis = axis,
                    .n = shape[axis],
                    .nfft = options.nfft.empty() ? shape[axis] : options.nfft[i],
                    .half = !is_complex<D> && i + 1 == options.axes.size(),
                    .ifftshift = is_set(options.ifftshift_before),
                    .fftshift = is_set(options.fftshift_after)});
    elements *= static_cast<double>(axes.back().nfft);
  }
  const double factor = options.norm == FftNorm::none    ? 1
                        : options.norm == FftNorm::ortho ? 1 / std::sqrt(elements)
                                                         : 1 / elements;
  return fourier_matrix<D>(shape, axes, factor);
}

template <Scalar D>
void check_fftnd(const Comm& comm, const Shape& shape, const FftNdOptions& options) {
  const auto expected = matrix_of<D>(shape, options);
  for_operator_layouts<D>(comm, shape, [&](const Layout& layout) {
    check_operator(fftnd<D>(layout, options), expected, fft_tolerance<D>());
  });
}

}  // namespace

TEST(Fftnd, matches_matrix_along_any_axes_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using D = decltype(example);
      check_fftnd<D>(comm, {5, 4}, {.axes = {1, 0}});
    });
    for (const std::vector<int>& axes : std::vector<std::vector<int>>{{0, 1, 2}, {2, 0}}) {
      check_fftnd<double>(comm, {3, 2, 4}, {.axes = axes});
      check_fftnd<std::complex<float>>(comm, {3, 2, 4}, {.axes = axes});
    }
  });
}

TEST(Fftnd, pads_truncates_and_shifts) {
  on_ranks([](Comm comm) {
    const FftNdOptions some{.axes = {0, 1},
                            .nfft = {3, 6},
                            .norm = FftNorm::none,
                            .ifftshift_before = {true, false},
                            .fftshift_after = {false, true}};
    const FftNdOptions all{.axes = {1, 0},
                           .nfft = {2, 5},
                           .norm = FftNorm::one_over_n,
                           .ifftshift_before = {true, true},
                           .fftshift_after = {true, true}};
    check_fftnd<double>(comm, {4, 3}, some);
    check_fftnd<std::complex<float>>(comm, {4, 3}, some);
    check_fftnd<float>(comm, {4, 3}, all);
    check_fftnd<std::complex<double>>(comm, {4, 3}, all);
  });
}

TEST(Fftnd, can_leave_the_result_transposed) {
  on_ranks([](Comm comm) {
    using D = double;
    const Shape shape{4, 3, 3};
    FftNdOptions options{.axes = {0, 1, 2}, .nfft = {5, 3, 4}};
    const auto expected = matrix_of<D>(shape, options);
    options.transposed = true;
    for_operator_layouts<D>(comm, shape, [&](const Layout& layout) {
      check_operator(fftnd<D>(layout, options), expected, fft_tolerance<D>());
    });
  });
}

TEST(Fftnd, accepts_one_value_for_all_axes) {
  const Layout layout = Layout::local({3, 4});
  using D = std::complex<double>;
  const auto expected = matrix_of<D>({3, 4}, {.axes = {0, 1},
                                              .nfft = {5, 5},
                                              .ifftshift_before = {true, true},
                                              .fftshift_after = {true, true}});
  check_operator(
      fftnd<D>(layout, {.nfft = {5}, .ifftshift_before = {true}, .fftshift_after = {true}}),
      expected, fft_tolerance<D>());
  const Layout cube = Layout::local({2, 3, 4});
  check_operator(fft2d<D>(cube), matrix_of<D>({2, 3, 4}, {.axes = {1, 2}}), fft_tolerance<D>());
  const auto f = fft_frequencies<double>(layout, FftNdOptions{.sampling = {0.5, 0.25}});
  EXPECT_EQ(f[0], (std::vector<double>{0, 1 / 1.5, -1 / 1.5}));
  EXPECT_EQ(f[1], (std::vector<double>{0, 1, 2}));
}

TEST(Fftnd, communicates_once_per_distributed_axis_and_once_to_return) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto expect_calls = [&](const Layout& layout, bool transposed, index_t calls) {
      SCOPED_TRACE(to_string(layout));
      using D = std::complex<double>;
      const auto A = fftnd<D>(layout, {.transposed = transposed});
      auto x = make_array<D>(A.domain());
      auto y = make_array<D>(A.range());
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), calls);
      EXPECT_EQ(A.cost().messages, static_cast<double>(calls));
    };
    const Shape shape{8, 8, 8};
    const index_t one = comm.size() > 1 ? 1 : 0;
    for (int axis = 0; axis < 3; ++axis) {
      const Layout slabs = Layout::scatter(comm, shape, axis);
      expect_calls(slabs, false, 2 * one);
      expect_calls(slabs, true, one);
    }
    expect_calls(Layout::replicated(comm, shape), false, 0);
    if (comm.size() != 4) return;
    const Layout pencils = Layout::bricks(comm, shape, {2, 2, 1});
    expect_calls(pencils, false, 3);
    expect_calls(pencils, true, 2);
    expect_calls(Layout::bricks(comm, {8, 8}, {2, 2}), false, 3);
  });
}

TEST(Fftnd, allocates_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto A = fftnd<float>(Layout::bricks(comm, {4, 5, 6}), {.nfft = {7}});
    auto x = make_array<float>(A.domain());
    auto y = make_array<std::complex<float>>(A.range());
    expect_no_allocation(comm, [&] {
      A.forward(x, y);
      A.forward(x, y, {0, 1});
      A.adjoint(y, x);
      A.adjoint(y, x, {0, 1});
    });
  });
}

TEST(Fftnd, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5, 2});
    using D = double;
    expect_error<ArgumentError>(comm, {"fftnd", "axis 1", "twice"}, [&] {
      fftnd<D>(layout, {.axes = {1, -2}});
    });
    expect_error<ArgumentError>(comm, {"fftnd", "2 values of nfft", "3 axes"}, [&] {
      fftnd<D>(layout, {.nfft = {4, 5}});
    });
    expect_error<ArgumentError>(comm, {"nfft", "axis 2", "0"}, [&] {
      fftnd<D>(layout, {.axes = {0, 2}, .nfft = {3, 0}});
    });
    expect_error<ArgumentError>(comm, {"fft2d", "3 axes"}, [&] {
      fft2d<D>(layout, {.axes = {0, 1, 2}});
    });
    expect_error<ArgumentError>(comm, {"fft2d"}, [&] { fft2d<D>(Layout::scatter(comm, {4})); });
  });
}

}  // namespace weft::test
