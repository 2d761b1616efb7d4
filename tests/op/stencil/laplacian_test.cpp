#include <weft/op/stencil/laplacian.hpp>

#include "op/support/derivative_matrices.hpp"

#include <weft/core/error.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace weft::test {
namespace {

template <class T>
Expected<T> matrix_of(const Shape& shape, const LaplacianOptions& options) {
  return {
      shape.count(), shape.count(), [&](index_t row, index_t column) {
        double entry = 0;
        for (std::size_t i = 0; i < options.axes.size(); ++i) {
          const int axis = (options.axes[i] + shape.ndim()) % shape.ndim();
          const double d = options.sampling[options.sampling.size() == 1 ? 0 : i];
          const double weight = options.weights[options.weights.size() == 1 ? 0 : i];
          entry +=
              weight / (d * d) *
              entry_along(shape, axis, row, column, [&](index_t place, index_t n) {
                return second_difference_at(place, n, {options.kind, options.edge, options.order});
              });
        }
        return T(static_cast<Real<T>>(entry));
      }};
}

template <class T>
void check_laplacian(const Comm& comm, const Shape& shape, LaplacianOptions options,
                     double tolerance = 0) {
  for (const DerivativeCase& c : second_derivatives()) {
    options.kind = c.kind;
    options.edge = c.edge;
    options.order = c.order;
    const auto expected = matrix_of<T>(shape, options);
    for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
      check_operator(laplacian<T>(layout, options), expected,
                     c.order == 3 ? tolerance : derivative_tolerance);
    });
  }
}

}  // namespace

TEST(Laplacian, matches_matrix_along_chosen_axes) {
  on_ranks([](Comm comm) {
    check_laplacian<double>(comm, {5, 6}, {});
    check_laplacian<double>(comm, {9}, {.axes = {0}});
    check_laplacian<double>(comm, {4, 3, 3}, {.axes = {0, 1, 2}});
    check_laplacian<double>(comm, {4, 2, 4}, {.axes = {2, 0}});
    check_laplacian<double>(comm, {1, 3, 2, 5}, {.axes = {0, 1, 2, 3}});
  });
}

TEST(Laplacian, applies_weights_and_sampling) {
  on_ranks([](Comm comm) {
    const LaplacianOptions options{.axes = {-1, 0}, .weights = {2, -3}, .sampling = {0.5, 1.5}};
    for_each_scalar([&](auto example) {
      check_laplacian<decltype(example)>(comm, {3, 5}, options, derivative_tolerance);
    });
    check_laplacian<double>(comm, {3, 5}, {.weights = {0, 1}});
  });
}

TEST(Laplacian, of_a_quadratic_is_constant) {
  on_ranks([](Comm comm) {
    const Shape shape{9, 30, 300};
    for (const Layout& layout :
         {Layout::scatter(comm, shape), Layout::scatter(comm, shape, 2),
          Layout::bricks(comm, shape), Layout::bricks(comm, shape, wide_grid(comm.size(), 3))}) {
      DistributedArray<double> x(layout);
      x.fill([](const Index& i) {
        return static_cast<double>(i[0] * i[0] + 2 * i[1] * i[1] - 5 * i[2] * i[2]);
      });
      const auto y =
          laplacian<double>(layout, {.axes = {0, 1, 2}, .weights = {1, 2, 3}, .edge = true}) * x;
      for (const double each : y.to_host()) ASSERT_EQ(each, 2 + 8 - 30);
    }
  });
}

TEST(Laplacian, of_order_5_is_exact_for_polynomials_of_degree_5) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {40});
    const double d = 0.25;
    const auto value = [&](const Index& at) { return static_cast<double>(at[0] - 20) * d; };
    DistributedArray<double> x(layout);
    x.fill([&](const Index& at) { return std::pow(value(at), 5) - 3 * std::pow(value(at), 4); });
    const auto y = laplacian<double>(layout, {.axes = {0}, .sampling = {d}, .order = 5}) * x;
    const auto all = y.all_gather();
    for (index_t i = 2; i < 38; ++i) {
      const double t = value({i});
      EXPECT_NEAR(all[static_cast<std::size_t>(i)], 20 * t * t * t - 36 * t * t, 1e-9) << i;
    }
  });
}

TEST(Laplacian, is_bitwise_equal_for_any_distribution_of_rows) {
  on_ranks([](Comm comm) {
    const Shape shape{7, 6, 9};
    const auto result = [](const Layout& layout) {
      DistributedArray<double> x(layout);
      x.fill([](const Index& i) {
        return 1 / static_cast<double>(1 + 3 * i[0] + 5 * i[1] * i[2] + i[2]);
      });
      const auto A =
          laplacian<double>(layout, {.axes = {0, 1, 2}, .sampling = {0.1, 0.3, 0.7}, .edge = true});
      return std::pair((A * x).all_gather(), (adjoint(A) * x).all_gather());
    };
    const auto expected = result(Layout::local(shape));
    for (const Layout& layout : {Layout::scatter(comm, shape), Layout::scatter(comm, shape, 1),
                                 Layout::scatter(comm, shape, 0, thirds(shape[0], comm.size()))}) {
      EXPECT_EQ(result(layout), expected) << to_string(layout);
    }
  });
}

TEST(Laplacian, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5, 6});
    const auto expect = [&](const std::vector<std::string>& words,
                            const LaplacianOptions& options) {
      expect_error<ArgumentError>(comm, words, [&] { laplacian<double>(layout, options); });
    };
    expect({"laplacian", "axis 3"}, {.axes = {0, 3}});
    expect({"laplacian", "axis 2", "twice"}, {.axes = {-1, 2}});
    expect({"laplacian", "no axes"}, {.axes = {}});
    expect({"laplacian", "3 values of weights", "2 axes"}, {.weights = {1, 2, 3}});
    expect({"laplacian", "0 values of sampling", "2 axes"}, {.sampling = {}});
    expect({"laplacian", "sampling", "got 0"}, {.sampling = {1, 0}});
    expect({"laplacian", "3 or 5", "got 4"}, {.order = 4});
    expect({"laplacian", "order 5", "centered"}, {.kind = DerivativeKind::forward, .order = 5});
    expect({"laplacian", "weights", "got inf"},
           {.weights = {1, std::numeric_limits<double>::infinity()}});
    expect_error<ArgumentError>(comm, {"laplacian", "axis -2"},
                                [&] { laplacian<double>(Layout::scatter(comm, {4})); });
  });
}

}  // namespace weft::test
