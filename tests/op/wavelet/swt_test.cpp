#include <weft/op/wavelet/swt.hpp>

#include "op/support/check_operator.hpp"
#include "op/support/wavelet_matrix.hpp"
#include "support/allocations.hpp"

#include <weft/core/error.hpp>
#include <weft/op/wavelet/dwt.hpp>

#include <cmath>

namespace weft::test {
namespace {

/// The arrays of the range for a line whose extent is a multiple of 2^level.
std::vector<Values> stationary_line(Values x, int level, const std::string& wavelet) {
  const auto filters = detail::wavelet_filters(wavelet, "test");
  const auto middle = static_cast<index_t>(filters.dec_lo.size()) / 2;
  std::vector<Values> arrays;
  for (index_t dilation = 1; dilation < index_t{1} << level; dilation *= 2) {
    Values a, d;
    for (index_t k = 0; k < std::ssize(x); ++k) {
      const index_t start = k + dilation * middle;
      a.push_back(filtered(filters.dec_lo, x, start, dilation) / std::sqrt(2.0));
      d.push_back(filtered(filters.dec_hi, x, start, dilation) / std::sqrt(2.0));
    }
    arrays.insert(arrays.begin(), d);
    x = a;
  }
  arrays.insert(arrays.begin(), x);
  return arrays;
}

template <Scalar T>
Expected<T> stationary_matrix(const Shape& domain, const SwtOptions& options) {
  const int axis = options.axis;
  const Shape part = padded_shape(domain, {axis}, options.level);
  Values x(static_cast<std::size_t>(part[axis]));
  std::vector<std::vector<Values>> lines;
  for (index_t at = 0; at < domain[axis]; ++at) {
    x.assign(x.size(), 0);
    x[static_cast<std::size_t>(at)] = 1;
    lines.push_back(stationary_line(x, options.level, options.wavelet));
  }
  return {(options.level + 1) * part.count(), domain.count(), [&](index_t row, index_t column) {
            const Index to = point_at(part, row % part.count());
            Index from = point_at(domain, column);
            const auto& line = lines[static_cast<std::size_t>(from[axis])];
            from[axis] = to[axis];
            if (from != to) return T{};
            const Values& values = line[static_cast<std::size_t>(row / part.count())];
            return T(static_cast<Real<T>>(values[static_cast<std::size_t>(to[axis])]));
          }};
}

template <Scalar T>
void check_layouts(const Comm& comm, const Shape& shape, const SwtOptions& options) {
  const auto expected = stationary_matrix<T>(shape, options);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(swt<T>(layout, options), expected, wavelet_tolerance<T>());
  });
}

}  // namespace

TEST(Swt, matches_matrix_along_any_axis_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_layouts<T>(comm, {6, 5}, {.wavelet = "db2", .axis = 0, .level = 2});
      if constexpr (std::same_as<Real<T>, double>) {
        check_layouts<T>(comm, {5, 3}, {.wavelet = "bior2.2", .axis = 1, .level = 1});
        check_layouts<T>(comm, {7}, {.wavelet = "sym4", .axis = 0, .level = 3});
      }
    });
  });
}

TEST(Swt, matches_matrix_of_all_wavelets) {
  for (const std::string& wavelet : wavelet_names()) {
    SCOPED_TRACE(wavelet);
    const SwtOptions options{.wavelet = wavelet, .axis = 1, .level = 2};
    check_operator(swt<double>(Layout::local({2, 16}), options),
                   stationary_matrix<double>({2, 16}, options), 1e-13);
  }
}

TEST(Swt, adjoint_of_an_orthogonal_wavelet_is_the_inverse) {
  on_ranks([](Comm comm) {
    for (const char* wavelet : {"haar", "db7", "sym20"}) {
      const auto W = swt<double>(Layout::scatter(comm, {37}), {.wavelet = wavelet, .level = 3});
      const Expected<double> unit(
          37, 37, [](index_t row, index_t column) { return row == column ? 1.0 : 0.0; });
      check_operator(adjoint(W) * W, unit, 1e-13);
    }
  });
}

TEST(Swt, communicates_only_along_distributed_axes) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto expect_calls = [&](const LinearOperator<float>& A, index_t calls) {
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
    const Layout rows = Layout::scatter(comm, {16, 16});
    expect_calls(swt<float>(rows, {.axis = 0, .level = 2}), 4);
    expect_calls(swt<float>(rows, {.axis = 1, .level = 2}), 0);
  });
}

TEST(Swt, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    using T = double;
    expect_error<ArgumentError>(comm, {"swt", "'db21'", "haar"},
                                [&] { swt<T>(layout, {.wavelet = "db21"}); });
    expect_error<ArgumentError>(comm, {"swt", "level", "got 0"},
                                [&] { swt<T>(layout, {.level = 0}); });
    expect_error<ArgumentError>(comm, {"swt", "-3"}, [&] { swt<T>(layout, {.axis = -3}); });
    expect_error<ArgumentError>(comm, {"swt", "axis 1", "empty"}, [&] {
      swt<T>(Layout::scatter(comm, {4, 0}));
    });
    expect_error<ArgumentError>(comm, {"stack"}, [&] { swt<T>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
