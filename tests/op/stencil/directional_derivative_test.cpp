#include <weft/op/stencil/directional_derivative.hpp>

#include "op/support/derivative_matrices.hpp"

#include <weft/core/error.hpp>

#include <limits>

namespace weft::test {
namespace {

/// The component of v along an axis, at a point of the array.
template <class T>
using Component = std::function<T(int axis, index_t point)>;

template <class T>
T first_entry(const Shape& shape, const DirectionalDerivativeOptions& options,
              const Component<T>& v, index_t row, index_t column) {
  T entry{};
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const double d =
        options.sampling[options.sampling.size() == 1 ? 0 : static_cast<std::size_t>(axis)];
    const auto difference = [&](index_t i, index_t n) {
      return first_difference_at(i, n, {options.kind, options.edge, options.order});
    };
    const double coefficient = entry_along(shape, axis, row, column, difference) / d;
    entry += v(axis, row) * T(static_cast<Real<T>>(coefficient));
  }
  return entry;
}

template <class T>
Expected<T> first_matrix(const Shape& shape, const DirectionalDerivativeOptions& options,
                         const Component<T>& v) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            return first_entry<T>(shape, options, v, row, column);
          }};
}

/// -Dᴴ D
template <class T>
Expected<T> second_matrix(const Shape& shape, const DirectionalDerivativeOptions& options,
                          const Component<T>& v) {
  const index_t count = shape.count();
  return {count, count, [&](index_t row, index_t column) {
            T sum{};
            for (index_t k = 0; k < count; ++k) {
              const T left = first_entry<T>(shape, options, v, k, row);
              const T right = first_entry<T>(shape, options, v, k, column);
              if constexpr (is_complex<T>) {
                sum -= std::conj(left) * right;
              } else {
                sum -= left * right;
              }
            }
            return sum;
          }};
}

template <class T>
void check_constant(const Comm& comm, const Shape& shape, const std::vector<double>& v,
                    const DirectionalDerivativeOptions& options) {
  const Component<T> component = [&](int axis, index_t) {
    return T(static_cast<Real<T>>(v[static_cast<std::size_t>(axis)]));
  };
  const auto first = first_matrix<T>(shape, options, component);
  const auto second = second_matrix<T>(shape, options, component);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(first_directional_derivative<T>(layout, v, options), first,
                   derivative_tolerance);
    check_operator(second_directional_derivative<T>(layout, v, options), second,
                   derivative_tolerance);
  });
}

template <class T>
void check_field(const Comm& comm, const Shape& shape,
                 const DirectionalDerivativeOptions& options) {
  const auto axes = static_cast<std::size_t>(shape.ndim());
  const index_t count = shape.count();
  const Layout whole = Layout::stack(std::vector<Layout>(axes, Layout::local(shape)));
  const std::vector<T> values = global_values<T>(whole, 5);
  const Component<T> component = [&](int axis, index_t point) {
    return values[static_cast<std::size_t>(axis * count + point)];
  };
  const auto first = first_matrix<T>(shape, options, component);
  const auto second = second_matrix<T>(shape, options, component);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    const auto v = make_array<T>(Layout::stack(std::vector<Layout>(axes, layout)), 5);
    check_operator(first_directional_derivative<T>(layout, v, options), first,
                   derivative_tolerance);
    check_operator(second_directional_derivative<T>(layout, v, options), second,
                   derivative_tolerance);
  });
}

}  // namespace

TEST(DirectionalDerivative, matches_matrix_along_a_constant_direction) {
  on_ranks([](Comm comm) {
    check_constant<double>(comm, {7}, {-2}, {});
    check_constant<double>(comm, {3, 5}, {2, -0.5}, {.sampling = {0.5, 2}, .edge = true});
    check_constant<double>(comm, {3, 1, 4}, {1, 2, 3}, {.kind = DerivativeKind::forward});
    check_constant<double>(comm, {2, 3}, {0, 0}, {});
  });
}

TEST(DirectionalDerivative, matches_matrix_along_a_field) {
  on_ranks([](Comm comm) {
    check_field<double>(comm, {9}, {.edge = true, .order = 7});
    check_field<double>(comm, {3, 5}, {.sampling = {0.5, 2}});
    check_field<double>(comm, {2, 3, 2}, {.kind = DerivativeKind::backward});
  });
}

TEST(DirectionalDerivative, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_constant<T>(comm, {4, 3}, {0.7, -1}, {.edge = true});
      check_field<T>(comm, {4, 3}, {.edge = true});
    });
  });
}

TEST(DirectionalDerivative, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect = [&](const std::vector<std::string>& words, const std::vector<double>& v,
                            const DirectionalDerivativeOptions& options = {}) {
      expect_error<ArgumentError>(
          comm, words, [&] { first_directional_derivative<double>(layout, v, options); });
    };
    expect({"first_directional_derivative", "3 components of v", "2 axes"}, {1, 2, 3});
    expect({"first_directional_derivative", "finite", "nan"}, {1, nan});
    expect({"first_directional_derivative", "sampling", "got 0"}, {1, 1}, {.sampling = {0}});
    expect({"first_directional_derivative", "order", "got 4"}, {1, 1}, {.order = 4});
    expect_error<ArgumentError>(comm, {"second_directional_derivative", "1 components of v"}, [&] {
      second_directional_derivative<double>(layout, std::vector<double>{1});
    });
    const auto v = make_array<double>(Layout::stack({layout, layout, layout}));
    expect_error<ArgumentError>(comm, {"first_directional_derivative", "v needs the layout"},
                                [&] { first_directional_derivative<double>(layout, v); });
  });
}

}  // namespace weft::test
