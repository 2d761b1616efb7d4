#include <weft/op/stencil/second_derivative.hpp>

#include "op/support/derivative_matrices.hpp"

#include <weft/core/error.hpp>

namespace weft::test {
namespace {

template <class T>
Expected<T> matrix_of(const Shape& shape, int axis, double sampling, const DerivativeCase& c) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            return T(static_cast<Real<T>>(
                entry_along(shape, axis, row, column,
                            [&](index_t i, index_t n) { return second_difference_at(i, n, c); }) /
                (sampling * sampling)));
          }};
}

template <class T>
void check_second_derivative(const Comm& comm, const Shape& shape, double sampling = 1) {
  for (const DerivativeCase& c : second_derivatives()) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const auto expected = matrix_of<T>(shape, axis, sampling, c);
      for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
        check_operator(second_derivative<T>(layout, {.axis = axis,
                                                     .sampling = sampling,
                                                     .kind = c.kind,
                                                     .edge = c.edge,
                                                     .order = c.order}),
                       expected, c.order == 3 && sampling == 1 ? 0 : derivative_tolerance);
      });
    }
  }
}

}  // namespace

TEST(SecondDerivative, matches_matrix_along_any_axis) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{13}, Shape{3, 5, 2}}) {
      check_second_derivative<double>(comm, shape);
    }
  });
}

TEST(SecondDerivative, handles_short_axes) {
  on_ranks([](Comm comm) {
    for (const index_t n : {1, 2, 3, 4, 5, 6, 9}) check_second_derivative<double>(comm, {n});
  });
}

TEST(SecondDerivative, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      check_second_derivative<decltype(example)>(comm, {5, 3}, 0.7);
    });
  });
}

TEST(SecondDerivative, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"second_derivative", "axis -3"},
                                [&] { second_derivative<double>(layout, {.axis = -3}); });
    expect_error<ArgumentError>(comm, {"second_derivative", "3 or 5", "got 7"},
                                [&] { second_derivative<double>(layout, {.order = 7}); });
    expect_error<ArgumentError>(comm, {"second_derivative", "sampling", "got 0"},
                                [&] { second_derivative<double>(layout, {.sampling = 0}); });
  });
}

}  // namespace weft::test
