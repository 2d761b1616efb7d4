#include <weft/op/fourier/shift.hpp>

#include "op/support/check_operator.hpp"
#include "op/support/fourier_matrix.hpp"

#include <weft/core/error.hpp>

#include <limits>

namespace weft::test {
namespace {

/// The shift of the trace through a point.
double shift_at(const Shape& shape, int axis, const ShiftOptions& options, Index at) {
  if (options.shift.size() == 1) return options.shift[0];
  index_t trace = 0;
  for (int other = 0; other < shape.ndim(); ++other) {
    if (other != axis) trace = trace * shape[other] + at[other];
  }
  return options.shift[static_cast<std::size_t>(trace)];
}

/// Sums over all frequencies -nfft/2 <= k < nfft/2; real arrays have the real part of the matrix.
template <Scalar T>
Expected<T> matrix_of(const Shape& shape, const ShiftOptions& options) {
  const int axis = options.axis < 0 ? options.axis + shape.ndim() : options.axis;
  const index_t nfft = options.nfft.value_or(shape[axis]);
  return {shape.count(), shape.count(), [&, axis, nfft](index_t row, index_t column) {
            const Index to = point_at(shape, row);
            Index from = point_at(shape, column);
            const index_t j = from[axis];
            from[axis] = to[axis];
            if (from != to) return T{};
            const double distance = static_cast<double>(to[axis] - j) -
                                    shift_at(shape, axis, options, to) / options.sampling;
            std::complex<double> sum = 0;
            for (index_t k = -(nfft / 2); k < nfft - nfft / 2; ++k) {
              const double turns = static_cast<double>(k) / static_cast<double>(nfft) * distance;
              sum += std::polar(1 / static_cast<double>(nfft), 2 * std::numbers::pi * turns);
            }
            if constexpr (is_complex<T>) {
              return T(sum);
            } else {
              return static_cast<T>(sum.real());
            }
          }};
}

template <Scalar T>
void check_shift(const Comm& comm, const Shape& shape, const ShiftOptions& options) {
  const auto expected = matrix_of<T>(shape, options);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(shift<T>(layout, options), expected, 10 * fft_tolerance<T>());
  });
}

}  // namespace

TEST(Shift, matches_matrix_along_any_axis) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_shift<T>(comm, {5, 3}, {.shift = {0.3}, .axis = 0});
      check_shift<T>(comm, {3, 6}, {.shift = {-1.6}, .sampling = 0.5, .nfft = 8});
    });
    check_shift<double>(comm, {7}, {.shift = {2.25}, .nfft = 11});
    check_shift<double>(comm, {2, 4, 3}, {.shift = {100.7}, .axis = 1});
    check_shift<double>(comm, {1, 2}, {.shift = {0.4}, .axis = 0});
  });
}

TEST(Shift, has_a_shift_per_trace) {
  on_ranks([](Comm comm) {
    const std::vector<double> shifts = {0, 1, -0.5, 2.3, 0.1, -3};
    check_shift<double>(comm, {2, 5, 3}, {.shift = shifts, .axis = 1, .nfft = 7});
    check_shift<std::complex<float>>(comm, {4, 2, 3}, {.shift = shifts, .axis = 0});
  });
}

TEST(Shift, by_whole_samples_moves_elements) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {9, 2});
    const auto x = make_array<double>(layout);
    const auto y = (shift<double>(layout, {.shift = {3}, .axis = 0, .nfft = 12}) * x).all_gather();
    const std::vector<double> before = x.all_gather();
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(y[i], i < 6 ? 0 : before[i - 6], 1e-13) << i;
    }
  });
}

TEST(Shift, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect = [&](const std::vector<std::string>& words, const ShiftOptions& options) {
      expect_error<ArgumentError>(comm, words, [&] { shift<double>(layout, options); });
    };
    expect({"shift", "axis 2"}, {.axis = 2});
    expect({"shift", "nfft 4", "5 elements", "axis 1"}, {.nfft = 4});
    expect({"shift", "3 shifts", "4 traces"}, {.shift = {1, 2, 3}});
    expect({"shift", "0 shifts"}, {.shift = {}});
    const auto nothing = shift<double>(Layout::scatter(comm, {0, 5}), {.shift = {}});
    EXPECT_EQ(nothing.range().count(), 0);
    expect({"shift", "finite", "nan"}, {.shift = {std::numeric_limits<double>::quiet_NaN()}});
    expect({"shift", "sampling", "got 0"}, {.sampling = 0});
    expect_error<ArgumentError>(comm, {"shift", "empty"}, [&] {
      shift<double>(Layout::scatter(comm, {3, 0}));
    });
  });
}

}  // namespace weft::test
