#include <weft/op/wavelet/dwt.hpp>

#include "op/support/check_operator.hpp"
#include "op/support/wavelet_matrix.hpp"
#include "support/allocations.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

namespace weft::test {
namespace {

detail::WaveletFilters filters_of(const std::string& wavelet) {
  return detail::wavelet_filters(wavelet, "test");
}

template <Scalar T>
void check_layouts(const Comm& comm, const Shape& shape, const DwtNdOptions& options) {
  const auto expected =
      wavelet_matrix<T>(shape, options.axes, options.level, filters_of(options.wavelet));
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(dwtnd<T>(layout, options), expected, wavelet_tolerance<T>());
  });
}

}  // namespace

TEST(Dwt, matches_matrix_along_any_axes_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_layouts<T>(comm, {6, 5}, {.wavelet = "db2", .axes = {0}, .level = 2});
      check_layouts<T>(comm, {4, 6}, {.wavelet = "sym4", .axes = {0, 1}, .level = 2});
      if constexpr (std::same_as<T, double>) {
        check_layouts<T>(comm, {11}, {.wavelet = "bior2.2", .axes = {0}, .level = 2});
        check_layouts<T>(comm, {3, 4, 2}, {.axes = {2, 0}, .level = 1});
        check_layouts<T>(comm, {2, 4, 3}, {.wavelet = "db3", .axes = {0, 1, 2}, .level = 2});
      }
    });
  });
}

TEST(Dwt, matches_matrix_of_all_wavelets) {
  for (const std::string& wavelet : wavelet_names()) {
    SCOPED_TRACE(wavelet);
    check_operator(dwt<double>(Layout::local({16, 2}), {wavelet, 0, 2}),
                   wavelet_matrix<double>({16, 2}, {0}, 2, filters_of(wavelet)), 1e-13);
  }
}

TEST(Dwt, matches_matrix_of_any_extents) {
  for (const Device device : {Device::cpu(), other_device()}) {
    for (const index_t n : {1, 2, 3, 8, 70}) {
      for (const index_t inner : {1, 3}) {
        const Shape shape{2, n, inner};
        check_operator(
            dwt<float>(Layout::local(shape).on(device), {.wavelet = "db4", .axis = 1, .level = 3}),
            wavelet_matrix<float>(shape, {1}, 3, filters_of("db4")), 3e-6);
      }
    }
  }
}

// Kernels work on blocks of elements; compare long lines and rows with short ones.

TEST(Dwt, matches_single_lines_of_long_rows) {
  for (const index_t inner : {7, 31, 32, 300}) {
    const Layout rows = Layout::local({60, inner});
    const auto all = dwt<double>(rows, {.wavelet = "db20", .axis = 0, .level = 2});
    const auto one = dwt<double>(Layout::local({60}), {.wavelet = "db20", .level = 2});
    const auto x = random_array<double>(rows, 1);
    const auto y = all * x;
    const auto back = adjoint(all) * y;
    for (const index_t line : {index_t{0}, inner / 2, inner - 1}) {
      DistributedArray<double> mine(one.domain());
      mine.fill([&](const Index& i) { return x.data()[i[0] * inner + line]; });
      const auto expected = one * mine;
      for (index_t i = 0; i < 60; ++i) {
        EXPECT_NEAR(y.data()[i * inner + line], expected.data()[i], 1e-13);
        EXPECT_NEAR(back.data()[i * inner + line], mine.data()[i], 1e-13);
      }
    }
  }
}

TEST(Dwt, of_long_lines_is_orthogonal_and_finds_polynomials) {
  const index_t n = 4096;
  const auto W = dwt<double>(Layout::local({n}), {.wavelet = "db3", .level = 3});
  const auto x = random_array<double>(W.domain(), 1);
  auto back = adjoint(W) * (W * x);
  axpy(-1, x, back);
  EXPECT_LE(norm(back), 1e-13 * norm(x));
  DistributedArray<double> parabola(W.domain());
  parabola.fill([&](const Index& i) {
    const double t = static_cast<double>(i[0]) / static_cast<double>(n);
    return 1 + t + t * t;
  });
  const auto y = W * parabola;
  for (index_t i = n / 4 + 4; i < n / 2 - 4; ++i) EXPECT_NEAR(y.data()[i], 0, 1e-13) << i;
  for (index_t i = n / 2 + 4; i < n - 4; ++i) EXPECT_NEAR(y.data()[i], 0, 1e-13) << i;
}

TEST(Dwt, dual_transforms_are_inverses) {
  on_ranks([](Comm comm) {
    for (const char* wavelet : {"bior1.3", "bior3.5", "bior4.4", "bior6.8", "sym5"}) {
      const Layout layout = Layout::scatter(comm, {9, 20});
      const auto W = dwt2d<double>(layout, {.wavelet = wavelet, .level = 2});
      const auto D = dwt2d<double>(layout, {.wavelet = wavelet, .level = 2, .dual = true});
      const auto x = random_array<double>(layout, 1);
      auto back = adjoint(D) * (W * x);
      axpy(-1, x, back);
      EXPECT_LE(norm(back), 1e-12 * norm(x)) << wavelet;
    }
  });
}

TEST(Dwt, normal_is_the_identity_for_orthogonal_wavelets) {
  const Layout layout = Layout::local({5, 4});
  EXPECT_TRUE(dwtnd<float>(layout, {.wavelet = "sym3"}).normal().is_identity());
  EXPECT_FALSE(dwtnd<float>(layout, {.wavelet = "bior1.3"}).normal().is_identity());
}

TEST(Dwt, transforms_the_last_axes_by_default) {
  const Layout layout = Layout::local({2, 3, 4});
  EXPECT_EQ(dwt<double>(layout, {.level = 3}).range().shape(), (Shape{2, 3, 8}));
  EXPECT_EQ(dwt2d<double>(layout, {.level = 3}).range().shape(), (Shape{2, 8, 8}));
  EXPECT_EQ(dwtnd<double>(layout, {.level = 3}).range().shape(), (Shape{8, 8, 8}));
}

TEST(Dwt, communicates_only_along_distributed_axes) {
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
        A.forward(x, y, {0, 1});
        A.adjoint(y, x);
        A.adjoint(y, x, {0, 1});
      });
    };
    const Layout rows = Layout::scatter(comm, {16, 16});
    expect_calls(dwt<float>(rows, {.wavelet = "db2", .axis = 0}), 2);
    expect_calls(dwt<float>(rows, {.wavelet = "db2", .axis = 1, .level = 3}), 0);
    expect_calls(dwt2d<float>(rows, {.wavelet = "db2", .level = 1}), 2);
    expect_calls(dwt2d<float>(rows, {.wavelet = "db2", .level = 3}), 4);
    expect_calls(dwt2d<float>(Layout::scatter(comm, {8, 8, 9}), {.axes = {0, 1}, .level = 3}), 2);
    expect_calls(dwt2d<float>(Layout::scatter(comm, {16, 16, 9}), {.axes = {0, 1}, .level = 3}), 2);
    expect_calls(dwt2d<float>(Layout::replicated(comm, {5, 6}), {.level = 2}), 0);
  });
}

TEST(Dwt, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    using T = double;
    expect_error<ArgumentError>(comm, {"dwt", "'coif1'", "bior6.8"},
                                [&] { dwt<T>(layout, {.wavelet = "coif1"}); });
    for (const int level : {0, -1, 31}) {
      expect_error<ArgumentError>(comm, {"dwtnd", "level", fmt::format("got {}", level)},
                                  [&] { dwtnd<T>(layout, {.level = level}); });
    }
    expect_error<ArgumentError>(comm, {"dwt", "2"}, [&] { dwt<T>(layout, {.axis = 2}); });
    expect_error<ArgumentError>(comm, {"dwtnd", "axis 1", "twice"}, [&] {
      dwtnd<T>(layout, {.axes = {1, -1}});
    });
    expect_error<ArgumentError>(comm, {"dwt2d", "1 axes"},
                                [&] { dwt2d<T>(layout, {.axes = {1}}); });
    expect_error<ArgumentError>(comm, {"dwt", "axis 1", "empty"}, [&] {
      dwt<T>(Layout::scatter(comm, {4, 0}));
    });
    expect_error<ArgumentError>(comm, {"stack"}, [&] { dwtnd<T>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
