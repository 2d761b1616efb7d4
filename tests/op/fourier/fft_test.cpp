#include "op/support/check_operator.hpp"
#include "op/support/fourier_matrix.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>
#include <weft/op/fourier/fft.hpp>

#include "support/allocations.hpp"

#if defined(WEFT_WITH_FFTW_OMP)
#include <fftw3.h>
#endif

#include <limits>

namespace weft::test {
namespace {

double factor_of(FftNorm norm, index_t nfft) {
  const auto n = static_cast<double>(nfft);
  if (norm == FftNorm::ortho) return 1 / std::sqrt(n);
  return norm == FftNorm::none ? 1 : 1 / n;
}

template <Scalar D>
Expected<D, Spectrum<D>> matrix_of(const Shape& shape, const FftOptions& options) {
  const int axis = options.axis < 0 ? options.axis + shape.ndim() : options.axis;
  const index_t nfft = options.nfft.value_or(shape[axis]);
  return fourier_matrix<D>(shape,
                           {{.axis = axis,
                             .n = shape[axis],
                             .nfft = nfft,
                             .half = !is_complex<D>,
                             .ifftshift = options.ifftshift_before,
                             .fftshift = options.fftshift_after}},
                           factor_of(options.norm, nfft));
}

template <Scalar D>
void check_fft(const Layout& layout, const FftOptions& options) {
  check_operator(fft<D>(layout, options), matrix_of<D>(layout.shape(), options),
                 fft_tolerance<D>());
}

template <Scalar D>
void check_fft_of_layouts(const Comm& comm, const Shape& shape, const FftOptions& options) {
  const auto expected = matrix_of<D>(shape, options);
  for_operator_layouts<D>(comm, shape, [&](const Layout& layout) {
    check_operator(fft<D>(layout, options), expected, fft_tolerance<D>());
  });
}

template <Scalar T>
DistributedArray<T> line_of(const ConstArrayView<T>& lines, index_t line) {
  DistributedArray<T> one(Layout::local({lines.shape()[0]}));
  one.fill([&](const Index& i) { return lines.data()[i[0] * lines.shape()[1] + line]; });
  return one;
}

template <Scalar T>
void expect_near(const ConstArrayView<T>& found, const ConstArrayView<T>& expected,
                 double tolerance) {
  EXPECT_LT(norm(found - expected), tolerance * norm(expected)) << to_string(expected.shape());
}

}  // namespace

TEST(Fft, matches_matrix_along_any_axis_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using D = decltype(example);
      check_fft_of_layouts<D>(comm, {5, 3}, {.axis = 0});
      check_fft_of_layouts<D>(comm, {5, 3}, {.axis = 1});
      if constexpr (std::same_as<Real<D>, double>) {
        check_fft_of_layouts<D>(comm, {7}, {});
        check_fft_of_layouts<D>(comm, {2, 4, 2}, {.axis = 1});
      }
    });
  });
}

TEST(Fft, matches_matrix_for_all_options) {
  for_each_scalar([&](auto example) {
    using D = decltype(example);
    for (const index_t n : {5, 6}) {
      const Layout layout = Layout::local({n, 2});
      for (const index_t nfft : {1, 2, 3, 4, 5, 6, 8, 9}) {
        for (const bool before : {false, true}) {
          for (const bool after : {false, true}) {
            check_fft<D>(
                layout,
                {.axis = 0, .nfft = nfft, .ifftshift_before = before, .fftshift_after = after});
          }
        }
      }
      for (const FftNorm norm : {FftNorm::ortho, FftNorm::none, FftNorm::one_over_n}) {
        check_fft<D>(layout, {.axis = 0, .nfft = n, .norm = norm});
        check_fft<D>(layout, {.axis = 0, .nfft = n + 3, .norm = norm});
      }
    }
  });
}

TEST(Fft, resizes_a_distributed_axis) {
  on_ranks([](Comm comm) {
    for (const index_t nfft : {2, 4, 9}) {
      const FftOptions options{
          .axis = 0, .nfft = nfft, .ifftshift_before = true, .fftshift_after = true};
      check_fft_of_layouts<float>(comm, {5, 2}, options);
      check_fft_of_layouts<std::complex<double>>(comm, {5, 2}, options);
    }
  });
}

// Many real lines of odd lengths with a larger prime factor are transformed by lane_fft.cpp.

TEST(Fft, matches_matrix_in_simd_lanes) {
  for_each_scalar([](auto example) {
    using D = decltype(example);
    if constexpr (!is_complex<D>) {
      check_fft<D>(Layout::local({33, 35}), {.axis = 0, .ifftshift_before = true});
      check_fft<D>(Layout::local({2, 11, 32}), {.axis = 1, .norm = FftNorm::none});
    }
  });
}

TEST(Fft, matches_single_lines_in_simd_lanes) {
  for_each_scalar([](auto example) {
    using D = decltype(example);
    if constexpr (!is_complex<D>) {
      for (const index_t n : {17, 99, 1331, 1599, 753}) {
        const auto all = fft<D>(Layout::local({n, 37}), {.axis = 0});
        const auto one = fft<D>(Layout::local({n}));
        const auto x = random_array<D>(all.domain(), 1);
        const DistributedArray<Spectrum<D>> y = all * x;
        const DistributedArray<D> back = adjoint(all) * y;
        for (const index_t line : {0, 18, 36}) {
          const DistributedArray<D> mine = line_of(x, line);
          expect_near(line_of(y, line), one * mine, fft_tolerance<D>());
          expect_near(line_of(back, line), mine, fft_tolerance<D>());
        }
      }
    }
  });
}

TEST(Fft, accepts_measured_plans) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using D = decltype(example);
      check_fft<D>(Layout::scatter(comm, {3, 8}), {.planning = FftPlanning::measure});
    });
  });
}

#if defined(WEFT_WITH_FFTW_OMP)
TEST(Fft, does_not_change_the_threads_of_other_plans) {
  fft<float>(Layout::local({12}));  // FFTW's threads are initialised
  fft<double>(Layout::local({12}));
  fftwf_plan_with_nthreads(5);
  fftw_plan_with_nthreads(6);
  fft<float>(Layout::local({300, 400}));
  fft<double>(Layout::local({300, 400}));
  EXPECT_EQ(fftwf_planner_nthreads(), 5);
  EXPECT_EQ(fftw_planner_nthreads(), 6);
  fftwf_plan_with_nthreads(1);
  fftw_plan_with_nthreads(1);
}
#endif

TEST(Fft, works_on_unaligned_memory) {
  const Layout layout = Layout::local({12});
  for_each_scalar([&](auto example) {
    using D = decltype(example);
    const auto A = fft<D>(layout);
    const auto x = make_array<D>(layout, 1);
    const auto y = A * x;
    std::vector<D> memory(13);
    std::vector<Spectrum<D>> result(13);
    auto odd = ArrayView<D>(layout, memory.data() + 1, 12);
    auto into = ArrayView<Spectrum<D>>(A.range(), result.data() + 1, A.range().local_count());
    copy(x, odd);
    A.forward(odd, into);
    axpy(-1, y, into);
    EXPECT_LE(norm(into), 1e-6 * norm(y));
    A.adjoint(y, odd);
    axpy(-1, x, odd);
    EXPECT_LE(norm(odd), 1e-6 * norm(x));
  });
}

TEST(Fft, is_accurate_in_single_precision) {
  const index_t n = 4095;
  const Layout layout = Layout::local({n});
  const auto x = make_array<std::complex<double>>(layout, 3);
  const auto y = fft<std::complex<double>>(layout) * x;
  const auto single = fft<std::complex<float>>(layout) * make_array<std::complex<float>>(layout, 3);
  auto error = astype<std::complex<double>>(single);
  axpy(-1, y, error);
  EXPECT_LE(norm(error), 1e-6 * norm(y));
  EXPECT_NEAR(norm(y), norm(x), 1e-12 * norm(x));
}

TEST(Fft, normal_is_a_multiple_of_the_identity) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using D = decltype(example);
      const Layout layout = Layout::scatter(comm, {5, 3});
      const auto unit = [&](double factor) {
        return Expected<D>(15, 15, [=](index_t row, index_t column) {
          return row == column ? D(static_cast<Real<D>>(factor)) : D{};
        });
      };
      const double tolerance = fft_tolerance<D>();
      EXPECT_TRUE(
          fft<D>(layout, {.axis = 0, .nfft = 9, .norm = FftNorm::none}).normal().cost().flops <
          100);
      check_operator(fft<D>(layout, {.axis = 0, .norm = FftNorm::none}).normal(), unit(5),
                     tolerance);
      check_operator(fft<D>(layout, {.axis = 0, .nfft = 8}).normal(), unit(1), tolerance);
      check_operator(fft<D>(layout, {.axis = 0, .norm = FftNorm::one_over_n}).normal(), unit(0.2),
                     tolerance);
      const auto cut_off = fft<D>(layout, {.axis = 1, .nfft = 2, .norm = FftNorm::none}).normal();
      check_operator(cut_off,
                     Expected<D>(15, 15,
                                 [](index_t row, index_t column) {
                                   return row == column && row % 3 < 2 ? D{2} : D{};
                                 }),
                     tolerance);
    });
  });
}

TEST(Fft, returns_frequencies) {
  const Layout layout = Layout::local({2, 5});
  using C = std::complex<double>;
  using Frequencies = std::vector<double>;
  EXPECT_EQ(fft_frequencies<C>(layout, {.sampling = 0.5}), (Frequencies{0, 0.4, 0.8, -0.8, -0.4}));
  EXPECT_EQ(fft_frequencies<C>(layout, {.nfft = 4}), (Frequencies{0, 0.25, -0.5, -0.25}));
  EXPECT_EQ(fft_frequencies<C>(layout, {.nfft = 4, .fftshift_after = true}),
            (Frequencies{-0.5, -0.25, 0, 0.25}));
  EXPECT_EQ(fft_frequencies<C>(layout, {.sampling = 0.5, .fftshift_after = true}),
            (Frequencies{-0.8, -0.4, 0, 0.4, 0.8}));
  EXPECT_EQ(fft_frequencies<double>(layout, {.nfft = 4}), (Frequencies{0, 0.25, 0.5}));
  EXPECT_EQ(fft_frequencies<double>(layout, {.nfft = 8, .sampling = 0.125}),
            (Frequencies{0, 1, 2, 3, 4}));
}

TEST(Fft, communicates_only_along_distributed_axes) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t two = comm.size() > 1 ? 2 : 0;
    const auto expect_calls = [&](const Layout& layout, int axis, index_t calls) {
      const auto A = fft<double>(layout, {.axis = axis});
      auto x = make_array<double>(A.domain());
      auto y = make_array<std::complex<double>>(A.range());
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), calls);
      EXPECT_EQ(A.cost().messages, static_cast<double>(calls));
    };
    const Layout rows = Layout::scatter(comm, {14, 15});
    expect_calls(rows, 0, two);
    expect_calls(rows, 1, 0);
    expect_calls(Layout::replicated(comm, {4, 5}), 0, 0);
    expect_calls(Layout::on_rank(comm, {4, 5}, 0), 0, 0);
    expect_calls(Layout::scatter(comm, {14}), 0, two);
  });
}

TEST(Fft, allocates_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for_each_scalar([&](auto example) {
      using D = decltype(example);
      const auto A =
          fft<D>(Layout::scatter(comm, {9, 4}),
                 {.axis = 0, .nfft = 10, .ifftshift_before = true, .fftshift_after = true});
      auto x = make_array<D>(A.domain());
      auto y = make_array<Spectrum<D>>(A.range());
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.forward(x, y, {0, 1});
        A.adjoint(y, x);
        A.adjoint(y, x, {0, 1});
      });
    });
  });
}

TEST(Fft, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    using D = double;
    expect_error<ArgumentError>(comm, {"fft", "nfft", "axis 1", "0"},
                                [&] { fft<D>(layout, {.nfft = 0}); });
    expect_error<ArgumentError>(comm, {"-3"}, [&] { fft<D>(layout, {.nfft = -3}); });
    expect_error<ArgumentError>(comm, {"fft", "2"}, [&] { fft<D>(layout, {.axis = 2}); });
    for (const double sampling : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()}) {
      expect_error<ArgumentError>(comm, {"sampling", "axis 1"},
                                  [&] { fft<D>(layout, {.sampling = sampling}); });
    }
    expect_error<ArgumentError>(comm, {"axis 1", "empty"}, [&] {
      fft<D>(Layout::scatter(comm, {4, 0}));
    });
    expect_error<ArgumentError>(comm, {"stack"}, [&] { fft<D>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
