#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/smoothing.hpp>

#include <cstdlib>

namespace weft::test {
namespace {

template <class T>
Expected<T> smoothing_matrix(const Shape& shape, const std::vector<index_t>& lengths,
                             const std::vector<int>& axes) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            const Index to = point_at(shape, row);
            Index from = point_at(shape, column);
            double entry = 1;
            for (std::size_t i = 0; i < axes.size(); ++i) {
              const int axis = axes[i];
              if (2 * std::abs(from[axis] - to[axis]) >= lengths[i]) return T{};
              entry /= static_cast<double>(lengths[i]);
              from[axis] = to[axis];
            }
            return position_of(shape, from) == row ? T(static_cast<Real<T>>(entry)) : T{};
          }};
}

template <class T>
constexpr double tolerance = std::is_same_v<Real<T>, float> ? 1e-6 : 1e-14;

}  // namespace

TEST(Smoothing, matches_matrix_along_one_axis) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{11}, Shape{1, 6}, Shape{5, 7}, Shape{3, 4, 2}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          for (const index_t length : {3, 5, 15}) {
            if (length != 5 && !std::same_as<T, double>) continue;
            const auto expected = smoothing_matrix<T>(shape, {length}, {axis});
            for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
              check_operator(smoothing<T>(layout, {length}, {.axes = {axis}}), expected,
                             tolerance<T>);
            });
          }
        }
      }
    });
  });
}

// Rows of several lanes, all divisions of long boxes into parts, and boxes for convolve1d.
TEST(Smoothing, matches_matrix_for_long_boxes_and_wide_rows) {
  on_ranks([](Comm comm) {
    const Shape shape{40, 9};
    for (const index_t length : {17, 31, 63, 65}) {
      const auto expected = smoothing_matrix<double>(shape, {length}, {0});
      const auto on_complex = smoothing_matrix<std::complex<float>>(shape, {length}, {0});
      for (const Layout& layout : {Layout::scatter(comm, shape), Layout::scatter(comm, shape, 1)}) {
        check_operator(smoothing<double>(layout, {length}, {.axes = {0}}), expected, 1e-14);
        check_operator(smoothing<std::complex<float>>(layout, {length}, {.axes = {0}}), on_complex,
                       1e-5);
      }
    }
  });
}

TEST(Smoothing, matches_matrix_along_several_axes) {
  on_ranks([](Comm comm) {
    const Shape shape{4, 5, 3};
    for_operator_layouts<double>(comm, shape, [&](const Layout& layout) {
      check_operator(smoothing<double>(layout, {3, 5}),
                     smoothing_matrix<double>(shape, {3, 5}, {1, 2}), 1e-14);
      check_operator(smoothing<double>(layout, {3, 5, 1}, {.axes = {2, 0, 1}}),
                     smoothing_matrix<double>(shape, {3, 5, 1}, {2, 0, 1}), 1e-14);
    });
  });
}

// A large value must not leave rounding errors beyond the reach of the box.
TEST(Smoothing, does_not_accumulate_rounding_errors) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {101, 3});
    DistributedArray<double> x(layout);
    x.fill([](const Index& at) { return at[0] == 20 ? 1e20 : 1.0; });
    const auto y = smoothing<double>(layout, {5}, {.axes = {0}}) * x;
    std::vector<double> seen = y.to_host();
    std::size_t element = 0;
    for_each_point(layout.box(), [&](const Index& at) {
      const index_t i = at[0];
      const double elements = 5.0 - (i < 2 ? 2.0 - static_cast<double>(i) : 0.0) -
                              (i > 98 ? static_cast<double>(i) - 98.0 : 0.0);
      const double expected = std::abs(i - 20) <= 2 ? 2e19 : elements / 5;
      EXPECT_NEAR(seen[element], expected, 1e-14 * expected) << i;
      ++element;
    });
  });
}

// Large enough for strips, threads and non-temporal stores.
TEST(Smoothing, smooths_large_arrays) {
  const Shape shape{1100, 1501};
  for (const int axis : {0, 1}) {
    const auto S = smoothing<double>(Layout::local(shape), {7}, {.axes = {axis}});
    DistributedArray<double> x(S.domain());
    x.fill([&](const Index& at) { return static_cast<double>(7 * (at[0] * 31 + at[1]) % 1001); });
    const std::vector<double> in = x.to_host();
    DistributedArray<double> y(S.range(), uninitialized);
    S.forward(x, y);
    const std::vector<double> out = y.to_host();
    const index_t step = axis == 0 ? shape[1] : 1;
    for (index_t p = 0; p < shape.count(); ++p) {
      const index_t at = axis == 0 ? p / shape[1] : p % shape[1];
      double sum = 0;
      for (index_t d = -3; d <= 3; ++d) {
        if (at + d >= 0 && at + d < shape[axis]) sum += in[static_cast<std::size_t>(p + d * step)];
      }
      ASSERT_NEAR(out[static_cast<std::size_t>(p)], sum / 7, 1e-11) << p << ", axis " << axis;
    }
  }
}

TEST(Smoothing, needs_no_pass_for_length_one) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {5, 4});
    EXPECT_TRUE(smoothing<double>(layout, {1, 1}).is_identity());
    EXPECT_TRUE(smoothing<double>(Layout::scatter(comm, {5, 0}), {3}).is_identity());
  });
}

TEST(Smoothing, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    for (const index_t bad : {0, 4, -3}) {
      expect_error<ArgumentError>(comm, {"smoothing", "odd", std::to_string(bad)},
                                  [&] { smoothing<double>(layout, {bad}); });
    }
    expect_error<ArgumentError>(comm, {"smoothing", "0 lengths", "(4, 5)"},
                                [&] { smoothing<double>(layout, {}); });
    expect_error<ArgumentError>(comm, {"smoothing", "3 lengths"}, [&] {
      smoothing<double>(layout, {3, 3, 3});
    });
    expect_error<ArgumentError>(comm, {"smoothing", "2 lengths", "1 axes"}, [&] {
      smoothing<double>(layout, {3, 3}, {.axes = {0}});
    });
    expect_error<ArgumentError>(comm, {"smoothing", "axis 1", "twice"}, [&] {
      smoothing<double>(layout, {3, 3}, {.axes = {1, -1}});
    });
    expect_error<ArgumentError>(comm, {"smoothing", "axis 2"},
                                [&] { smoothing<double>(layout, {3}, {.axes = {2}}); });
  });
}

}  // namespace weft::test
