#include <weft/op/stencil/first_derivative.hpp>

#include "op/support/derivative_matrices.hpp"

#include <weft/core/error.hpp>

#include <limits>

namespace weft::test {
namespace {

template <class T>
Expected<T> matrix_of(const Shape& shape, int axis, double sampling, const DerivativeCase& c) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            return T(static_cast<Real<T>>(
                entry_along(shape, axis, row, column,
                            [&](index_t i, index_t n) { return first_difference_at(i, n, c); }) /
                sampling));
          }};
}

template <class T>
void check_first_derivative(const Comm& comm, const Shape& shape, double sampling = 1) {
  for (const DerivativeCase& c : first_derivatives()) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const auto expected = matrix_of<T>(shape, axis, sampling, c);
      const double tolerance = c.order > 3 || sampling != 1 ? derivative_tolerance : 0;
      for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
        check_operator(first_derivative<T>(layout, {.axis = axis - shape.ndim(),
                                                    .sampling = sampling,
                                                    .kind = c.kind,
                                                    .edge = c.edge,
                                                    .order = c.order}),
                       expected, tolerance);
      });
    }
  }
}

}  // namespace

TEST(FirstDerivative, matches_matrix_along_any_axis) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{23}, Shape{3, 9, 2}}) {
      check_first_derivative<double>(comm, shape);
    }
  });
}

TEST(FirstDerivative, handles_short_axes) {
  on_ranks([](Comm comm) {
    for (const index_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16})
      check_first_derivative<double>(comm, {n});
    check_first_derivative<double>(comm, {2, 1});
  });
}

TEST(FirstDerivative, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      check_first_derivative<decltype(example)>(comm, {5, 3}, -0.3);
    });
  });
}

TEST(FirstDerivative, is_exact_on_large_arrays) {
  on_ranks([](Comm comm) {
    // The centered derivatives of x = i^2 + 3 j + k are 2 i, 3 and 1.
    const auto check = [](const Layout& layout) {
      const Shape& shape = layout.shape();
      DistributedArray<double> x(layout);
      x.fill(
          [](const Index& at) { return static_cast<double>(at[0] * at[0] + 3 * at[1] + at[2]); });
      for (int axis = 0; axis < 3; ++axis) {
        const auto y = first_derivative<double>(layout, {.axis = axis}) * x;
        DistributedArray<double> expected(layout);
        expected.fill([&](const Index& at) {
          if (at[axis] == 0 || at[axis] == shape[axis] - 1) return 0.0;
          return axis == 0 ? 2.0 * static_cast<double>(at[0]) : axis == 1 ? 3.0 : 1.0;
        });
        EXPECT_TRUE(y.to_host() == expected.to_host()) << to_string(layout) << ", axis " << axis;
      }
    };
    for (const int cut : {0, 1, 2}) check(Layout::scatter(comm, {5, 40, 700}, cut));
    // Large enough for non-temporal stores, with rows that begin anywhere in a cache line.
    if (comm.rank() == 0) check(Layout::local({3, 641, 823}));
  });
}

TEST(FirstDerivative, ignores_nan_outside_its_stencil) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {12});
    DistributedArray<double> x(layout);
    x.fill([](const Index& at) {
      return at[0] == 5 ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    });
    const auto y = (first_derivative<double>(layout) * x).all_gather();
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i] != 0, i == 4 || i == 6) << i;
  });
}

TEST(FirstDerivative, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect = [&](const std::vector<std::string>& words,
                            const FirstDerivativeOptions& options) {
      expect_error<ArgumentError>(comm, words, [&] { first_derivative<double>(layout, options); });
    };
    expect({"first_derivative", "axis 2"}, {.axis = 2});
    expect({"first_derivative", "sampling", "got 0"}, {.sampling = 0});
    expect({"sampling", "got inf"}, {.sampling = std::numeric_limits<double>::infinity()});
    expect({"sampling", "got nan"}, {.sampling = std::numeric_limits<double>::quiet_NaN()});
    expect({"got 4", "3, 5, 7 or 9"}, {.order = 4});
    expect({"got 11", "3, 5, 7 or 9"}, {.order = 11});
    expect({"order 5", "centered"}, {.kind = DerivativeKind::forward, .order = 5});
    expect_error<ArgumentError>(comm, {"stack"},
                                [&] { first_derivative<double>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
