#include <weft/op/radon/fourier_radon.hpp>

#include "op/support/check_operator.hpp"
#include "op/support/radon_matrix.hpp"
#include "support/allocations.hpp"

#include <weft/core/error.hpp>

#include <limits>

namespace weft::test {
namespace {

/// The delay that an axis contributes, by definition.
double delay_of(const RadonAxis& axis, index_t h, index_t p) {
  const double offset = axis.offsets[static_cast<std::size_t>(h)];
  const double g = axis.curve == RadonCurve::linear ? offset : offset * offset;
  return axis.slownesses[static_cast<std::size_t>(p)] * g;
}

RadonTimes times_of(index_t times, const FourierRadonOptions& options) {
  const index_t nfft = options.nfft.value_or(times);
  return {options.dt, nfft, options.first_frequency, options.end_frequency.value_or(nfft / 2 + 1)};
}

const RadonAxis short_axis{.offsets = {-1, 0.5}, .slownesses = {0.2, -0.1, 0.7}};
const RadonAxis long_axis{
    .offsets = {-0.7, 0, 0.3, 2, 1.5}, .slownesses = {0.4, -0.3}, .curve = RadonCurve::parabolic};

template <std::floating_point R>
Expected<R> matrix_of(const RadonAxis& x, index_t times, const FourierRadonOptions& options) {
  return radon_matrix<R>(
      {std::ssize(x.slownesses), times}, {std::ssize(x.offsets), times}, times_of(times, options),
      [&](const Index& to, const Index& from) { return delay_of(x, to[0], from[0]); });
}

template <std::floating_point R>
void check_2d(const Comm& comm, const RadonAxis& x, index_t times,
              const FourierRadonOptions& options) {
  const auto expected = matrix_of<R>(x, times, options);
  const Shape model{std::ssize(x.slownesses), times};
  for_operator_layouts<R>(comm, model, [&](const Layout& layout) {
    check_operator(fourier_radon2d<R>(layout, x, options), expected, radon_tolerance<R>());
  });
}

void check_options(Device device, const FourierRadonOptions& options) {
  for (const RadonAxis& x : {short_axis, long_axis}) {
    const Layout model = Layout::local({std::ssize(x.slownesses), 8}).on(device);
    check_operator(fourier_radon2d<double>(model, x, options), matrix_of<double>(x, 8, options),
                   1e-12);
  }
}

}  // namespace

TEST(FourierRadon, matches_matrix_of_any_layout) {
  on_ranks([](Comm comm) {
    check_2d<float>(comm, short_axis, 6, {.dt = 0.5});
    check_2d<double>(comm, long_axis, 5, {.nfft = 9, .first_frequency = 1, .end_frequency = 4});
  });
}

TEST(FourierRadon, matches_matrix_for_all_options_on_any_device) {
  for (const Device device : {Device::cpu(), other_device()}) {
    check_options(device, {});
    check_options(device, {.dt = 0.5, .nfft = 11});
    check_options(device, {.first_frequency = 1, .end_frequency = 4});
    check_options(device, {.first_frequency = 2});
    check_options(device, {.first_frequency = 3, .end_frequency = 3});
    // Kernels work on blocks of frequencies.
    check_options(device, {.dt = 0.1, .nfft = 301, .first_frequency = 40, .end_frequency = 140});
  }
}

TEST(FourierRadon, matches_matrix_of_three_axes) {
  on_ranks([](Comm comm) {
    const FourierRadonOptions options{.dt = 0.25, .nfft = 6};
    const Shape model{3, 2, 4};
    const auto expected = radon_matrix<double>(
        model, {2, 5, 4}, times_of(4, options), [](const Index& to, const Index& from) {
          return delay_of(short_axis, to[0], from[0]) + delay_of(long_axis, to[1], from[1]);
        });
    for_operator_layouts<double>(comm, model, [&](const Layout& layout) {
      check_operator(fourier_radon3d<double>(layout, short_axis, long_axis, options), expected,
                     radon_tolerance<double>());
    });
  });
}

TEST(FourierRadon, distributes_frequencies) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto expect_calls = [&](const LinearOperator<float>& A, index_t calls) {
      SCOPED_TRACE(A.describe());
      if (comm.size() == 1) calls = 0;
      auto x = make_array<float>(A.domain());
      auto y = make_array<float>(A.range());
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), calls);
      EXPECT_EQ(A.cost().messages, static_cast<double>(calls));
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.adjoint(y, x, {0, 1});
      });
    };
    const std::vector<double> ten(10, 0.5);
    const Layout rows = Layout::scatter(comm, {10, 40});
    expect_calls(fourier_radon2d<float>(rows, {ten, ten}), 2);
    expect_calls(fourier_radon2d<float>(Layout::replicated(comm, {10, 40}), {ten, ten}), 0);
    const Layout slabs = Layout::scatter(comm, {10, 10, 40});
    expect_calls(fourier_radon3d<float>(slabs, {ten, ten}, {ten, ten}), 2);
    EXPECT_EQ(fourier_radon2d<float>(rows, {ten, ten}).range(), rows);
  });
}

TEST(FourierRadon, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {3, 8});
    const auto make = [&](const RadonAxis& x, const FourierRadonOptions& options) {
      fourier_radon2d<double>(layout, x, options);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    expect_error<ArgumentError>(comm, {"fourier_radon2d", "2 slownesses", "axis 0", "(3, 8)"},
                                [&] { make(long_axis, {}); });
    expect_error<ArgumentError>(comm, {"fourier_radon2d", "no offsets"}, [&] {
      make({.offsets = {}, .slownesses = {1, 2, 3}}, {});
    });
    expect_error<ArgumentError>(comm, {"offsets", "nan"}, [&] {
      make({.offsets = {nan}, .slownesses = {1, 2, 3}}, {});
    });
    expect_error<ArgumentError>(comm, {"nfft is 7", "8 times"},
                                [&] { make(short_axis, {.nfft = 7}); });
    for (const double bad : {0.0, -1.0, nan}) {
      expect_error<ArgumentError>(comm, {"fourier_radon2d", "dt"},
                                  [&] { make(short_axis, {.dt = bad}); });
    }
    expect_error<ArgumentError>(comm, {"[2, 6)", "5", "nfft = 8"}, [&] {
      make(short_axis, {.first_frequency = 2, .end_frequency = 6});
    });
    expect_error<ArgumentError>(comm, {"[-1, 5)"},
                                [&] { make(short_axis, {.first_frequency = -1}); });
    RadonAxis curved = short_axis;
    curved.curve = static_cast<RadonCurve>(2);
    expect_error<ArgumentError>(comm, {"RadonCurve", "2"}, [&] { make(curved, {}); });
    expect_error<ArgumentError>(comm, {"fourier_radon3d", "3 axes", "(3, 8)"},
                                [&] { fourier_radon3d<double>(layout, short_axis, short_axis); });
    expect_error<ArgumentError>(comm, {"time axis", "(3, 0)", "empty"}, [&] {
      fourier_radon2d<double>(Layout::scatter(comm, {3, 0}), short_axis);
    });
  });
}

}  // namespace weft::test
