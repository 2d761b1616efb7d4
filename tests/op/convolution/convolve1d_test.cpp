#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/convolve1d.hpp>

#include "support/allocations.hpp"

namespace weft::test {
namespace {

using Method = ConvolutionMethod;

template <Scalar T>
std::vector<T> some_filter(index_t count) {
  std::vector<T> filter;
  for (index_t j = 0; j < count; ++j) filter.push_back(value<T>(j, 9));
  return filter;
}

template <Scalar T>
Expected<T> convolution_matrix(const Shape& shape, int axis, const std::vector<T>& h,
                               index_t offset) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            const Index to = point_at(shape, row);
            const Index from = point_at(shape, column);
            Index elsewhere = to;
            elsewhere[axis] = from[axis];
            const index_t j = to[axis] - from[axis] + offset;
            if (elsewhere != from || j < 0 || j >= static_cast<index_t>(h.size())) return T{};
            return h[static_cast<std::size_t>(j)];
          }};
}

/// Sums of whole numbers are exact.
template <Scalar T>
double tolerance_of(Method method) {
  if (method == Method::direct) return 0;
  return std::same_as<Real<T>, float> ? 3e-6 : 1e-14;
}

template <Scalar T>
void check_convolution(const Comm& comm, const Shape& shape, int axis, index_t taps, index_t offset,
                       Method method) {
  SCOPED_TRACE(testing::Message() << taps << " taps, offset " << offset);
  const std::vector<T> h = some_filter<T>(taps);
  const auto expected = convolution_matrix<T>(shape, axis, h, offset);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(convolve1d<T>(layout, h, {.offset = offset, .axis = axis, .method = method}),
                   expected, tolerance_of<T>(method));
  });
}

}  // namespace

TEST(Convolve1d, matches_matrix_along_any_axis_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_convolution<T>(comm, {5, 3}, 0, 3, 1, Method::direct);
      check_convolution<T>(comm, {5, 3}, 1, 2, 0, Method::direct);
    });
    check_convolution<double>(comm, {2, 5, 2}, 1, 4, 1, Method::direct);
    check_convolution<float>(comm, {5, 2}, 0, 4, 2, Method::fft);
    check_convolution<std::complex<double>>(comm, {5, 2}, 0, 3, 0, Method::fft);
    check_convolution<std::complex<float>>(comm, {5, 2}, 0, 3, 1, Method::fft);
  });
}

TEST(Convolve1d, accepts_filters_of_any_length) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {7});
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const index_t taps : {1, 2, 5, 7, 12, 19}) {
        for (const index_t offset : {index_t{0}, taps / 2, taps - 1}) {
          const std::vector<T> h = some_filter<T>(taps);
          const auto expected = convolution_matrix<T>({7}, 0, h, offset);
          for (const Method method : {Method::direct, Method::fft, Method::automatic}) {
            const auto A = convolve1d<T>(layout, h, {.offset = offset, .method = method});
            check_operator(A, expected, tolerance_of<T>(method));
          }
        }
      }
    });
  });
}

TEST(Convolve1d, is_accurate_on_long_lines) {
  for_each_scalar([&](auto example) {
    using T = decltype(example);
    for (const Shape& shape : {Shape{1500}, Shape{300, 3}}) {
      const Layout layout = Layout::local(shape);
      const std::vector<T> h = some_filter<T>(250);
      const auto x = make_array<T>(layout, 1);
      const auto apply = [&](Method method) {
        return convolve1d<T>(layout, h, {.offset = 80, .axis = 0, .method = method}) * x;
      };
      const auto sums = apply(Method::direct).to_host();
      const auto products = apply(Method::automatic).to_host();
      const index_t inner = shape.ndim() > 1 ? shape[1] : 1;
      double largest = 0;
      double error = 0;
      for (index_t i = 0; i < layout.count(); ++i) {
        T expected{};
        for (index_t j = 0; j < 250; ++j) {
          const index_t from = i + (80 - j) * inner;
          if (from < 0 || from >= layout.count()) continue;
          expected += h[static_cast<std::size_t>(j)] * x.local()[static_cast<std::size_t>(from)];
        }
        ASSERT_EQ(sums[static_cast<std::size_t>(i)], expected);
        largest = std::max<double>(largest, std::abs(expected));
        error = std::max<double>(error, std::abs(products[static_cast<std::size_t>(i)] - expected));
      }
      EXPECT_LE(error, largest * tolerance_of<T>(Method::fft));
    }
  });
}

TEST(Convolve1d, communicates_by_halos_or_redistribution) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 4});
    const index_t neighbours =
        (comm.rank() == 0 ? 0 : 1) + (comm.rank() == comm.size() - 1 ? 0 : 1);
    const index_t two = comm.size() > 1 ? 2 : 0;
    const auto expect_calls = [&](int axis, Method method, index_t calls) {
      const auto A = convolve1d<double>(rows, some_filter<double>(3),
                                        {.offset = 1, .axis = axis, .method = method});
      auto x = make_array<double>(rows);
      auto y = make_array<double>(rows);
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), calls);
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.adjoint(y, x, {0, 1});
      });
    };
    expect_calls(0, Method::direct, 2 * neighbours);  // a send and a receive each
    expect_calls(0, Method::fft, two);
    expect_calls(1, Method::direct, 0);
    expect_calls(1, Method::fft, 0);
  });
}

TEST(Convolve1d, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const std::vector<double> h(3);
    expect_error<ArgumentError>(comm, {"convolve1d", "empty"},
                                [&] { convolve1d<double>(layout, {}); });
    expect_error<ArgumentError>(comm, {"offset 3", "3 elements"},
                                [&] { convolve1d<double>(layout, h, {.offset = 3}); });
    expect_error<ArgumentError>(comm, {"offset -1"},
                                [&] { convolve1d<double>(layout, h, {.offset = -1}); });
    expect_error<ArgumentError>(comm, {"convolve1d", "2"},
                                [&] { convolve1d<double>(layout, h, {.axis = 2}); });
  });
}

}  // namespace weft::test
