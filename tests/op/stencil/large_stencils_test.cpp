// Derivatives of arrays large enough for the fast paths of the kernels: marching blocks of threads
// on a GPU, non-temporal stores on a CPU.

#include <weft/array/arithmetic.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/op/stencil/laplacian.hpp>

#include "op/support/derivative_matrices.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace weft::test {
namespace {

/// A difference matrix along one axis, from the domain to a part of the range.
struct Along {
  int axis;
  int range_part;
  std::function<Difference(index_t place, index_t n)> difference_at;
};

template <Scalar T>
std::vector<T> whole_numbers(index_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = T(static_cast<Real<T>>(i * 7919 % 13) - 6);
  }
  return values;
}

/// All elements on every rank; the parts of a stack one after the other.
template <Scalar T>
std::vector<T> gathered(const ConstArrayView<T>& x) {
  if (!x.layout().is_stack()) return x.all_gather();
  std::vector<T> all;
  for (int i = 0; i < x.layout().part_count(); ++i) {
    const std::vector<T> part = x.part(i).all_gather();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}
template <Scalar T>
DistributedArray<T> distribute(const Layout& layout, std::span<const T> values) {
  if (!layout.is_stack()) return DistributedArray<T>::from_global(layout, values);
  DistributedArray<T> x(layout);
  for (int i = 0; i < layout.part_count(); ++i) {
    const auto count = static_cast<std::size_t>(layout.part(i).count());
    copy(DistributedArray<T>::from_global(layout.part(i), values.first(count)), x.part(i));
    values = values.subspan(count);
  }
  return x;
}

/// f(row, column, coefficient) for every nonzero of the matrices, for arrays of one shape.
template <class F>
void for_each_entry(const Shape& shape, const std::vector<Along>& matrices, F f) {
  const index_t count = shape.count();
  for (const Along& each : matrices) {
    index_t stride = 1;
    for (int axis = each.axis + 1; axis < shape.ndim(); ++axis) stride *= shape[axis];
    const index_t n = shape[each.axis];
    std::vector<Difference> rows;
    for (index_t place = 0; place < n; ++place) rows.push_back(each.difference_at(place, n));
    for (index_t point = 0; point < count; ++point) {
      const index_t place = point / stride % n;
      const Difference& row = rows[static_cast<std::size_t>(place)];
      for (std::size_t i = 0; i < row.coefficients.size(); ++i) {
        const index_t column = point + (row.first + static_cast<index_t>(i) - place) * stride;
        f(each.range_part * count + point, column, row.coefficients[i]);
      }
    }
  }
}

/// All numbers are small multiples of 1/2, so that sums are exact in any order.
template <Scalar T>
void check_large(const LinearOperator<T>& a, const Shape& shape,
                 const std::vector<Along>& matrices) {
  SCOPED_TRACE(to_string(a.domain()));
  const auto at = [](index_t i) { return static_cast<std::size_t>(i); };
  const index_t columns = shape.count();
  const index_t rows = columns * (a.range().is_stack() ? a.range().part_count() : 1);
  const std::vector<T> x = whole_numbers<T>(columns);
  const std::vector<T> y = whole_numbers<T>(rows);
  std::vector<T> forward(at(rows));
  std::vector<T> adjoint(at(columns));
  for_each_entry(shape, matrices, [&](index_t row, index_t column, double coefficient) {
    forward[at(row)] += static_cast<Real<T>>(coefficient) * x[at(column)];
    adjoint[at(column)] += static_cast<Real<T>>(coefficient) * y[at(row)];
  });
  auto in = distribute<T>(a.domain(), x);
  auto out = distribute<T>(a.range(), y);
  EXPECT_TRUE(gathered(a * in) == forward);
  a.forward(in, out, {T{2}, T{-1}});
  std::vector<T> blended(at(rows));
  for (std::size_t i = 0; i < blended.size(); ++i) blended[i] = T{2} * forward[i] - y[i];
  EXPECT_TRUE(gathered(out) == blended);
  out = distribute<T>(a.range(), y);
  a.adjoint(out, in);
  EXPECT_TRUE(gathered(in) == adjoint);
}

template <class F>
void for_large_layouts(const Comm& comm, const Shape& shape, F f) {
  for (const int axis : {0, shape.ndim() - 1}) {
    const Layout layout = Layout::scatter(comm, shape, axis);
    f(layout);
    // The debug device runs the same kernels as the CPU.
    if (other_device().kind == DeviceKind::cuda) f(layout.on(other_device()));
  }
}

std::vector<int> all_axes(const Shape& shape) {
  std::vector<int> axes(static_cast<std::size_t>(shape.ndim()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Rows with and without whole packs of 16 bytes, and one to five axes.
const std::vector<Shape> large_shapes = {{40000},      {150, 260},     {32, 24, 48},
                                         {29, 31, 37}, {3, 9, 28, 44}, {3, 4, 5, 22, 28},
                                         {9000, 2, 2}};

}  // namespace

TEST(LargeStencils, match_first_derivative) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : large_shapes) {
      for_large_layouts(comm, shape, [&](const Layout& layout) {
        for (const int axis : all_axes(shape)) {
          for (const DerivativeKind kind : {DerivativeKind::centered, DerivativeKind::backward}) {
            check_large(first_derivative<float>(layout, {.axis = axis, .kind = kind}), shape,
                        {{axis, 0, [&](index_t place, index_t n) {
                            return first_difference_at(place, n, {kind});
                          }}});
          }
        }
      });
    }
  });
}

TEST(LargeStencils, match_laplacian) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : large_shapes) {
      std::vector<Along> matrices;
      for (const int axis : all_axes(shape)) {
        matrices.push_back({axis, 0, [](index_t place, index_t n) {
                              return second_difference_at(place, n, {.edge = true});
                            }});
      }
      for_large_layouts(comm, shape, [&](const Layout& layout) {
        const LaplacianOptions options{.axes = all_axes(shape), .edge = true};
        check_large(laplacian<float>(layout, options), shape, matrices);
        check_large(laplacian<std::complex<double>>(layout, options), shape, matrices);
      });
    }
  });
}

TEST(LargeStencils, match_gradient) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : large_shapes) {
      std::vector<Along> matrices;
      for (const int axis : all_axes(shape)) {
        matrices.push_back({axis, axis, [](index_t place, index_t n) {
                              return first_difference_at(place, n, {});
                            }});
      }
      for_large_layouts(comm, shape, [&](const Layout& layout) {
        check_large(gradient<double>(layout), shape, matrices);
        check_large(gradient<std::complex<float>>(layout), shape, matrices);
      });
    }
  });
}

// On a GPU there are kernels for few and for many taps; these shapes and stencils need each of
// them.

TEST(LargeStencils, match_one_sided_laplacian) {
  on_ranks([](Comm comm) {
    for (const Shape& shape :
         {Shape{40000}, Shape{150, 260}, Shape{32, 24, 48}, Shape{7, 12, 24, 40}}) {
      for (const DerivativeKind kind : {DerivativeKind::forward, DerivativeKind::backward}) {
        std::vector<Along> matrices;
        for (const int axis : all_axes(shape)) {
          matrices.push_back({axis, 0, [=](index_t place, index_t n) {
                                return second_difference_at(place, n, {kind});
                              }});
        }
        for_large_layouts(comm, shape, [&](const Layout& layout) {
          check_large(laplacian<float>(layout, {.axes = all_axes(shape), .kind = kind}), shape,
                      matrices);
        });
      }
    }
  });
}

TEST(LargeStencils, match_gradient_of_five_points) {
  on_ranks([](Comm comm) {
    // The sampling makes all coefficients integers.
    const GradientOptions options{.sampling = {1.0 / 12}, .order = 5};
    const auto difference = [](index_t place, index_t n) {
      Difference row = first_difference_at(place, n, {.order = 5});
      for (double& coefficient : row.coefficients) coefficient = std::round(12 * coefficient);
      return row;
    };
    for (const Shape& shape :
         {Shape{40000}, Shape{150, 260}, Shape{40, 24, 48}, Shape{16, 16, 40, 40}}) {
      std::vector<Along> matrices;
      for (const int axis : all_axes(shape)) matrices.push_back({axis, axis, difference});
      for_large_layouts(comm, shape, [&](const Layout& layout) {
        check_large(gradient<float>(layout, options), shape, matrices);
      });
    }
  });
}

TEST(LargeStencils, match_gradient_of_nine_points) {
  on_ranks([](Comm comm) {
    const GradientOptions options{.sampling = {1.0 / 840}, .edge = true, .order = 9};
    const auto difference = [](index_t place, index_t n) {
      Difference row = first_difference_at(place, n, {.edge = true, .order = 9});
      for (double& coefficient : row.coefficients) coefficient = std::round(840 * coefficient);
      return row;
    };
    for (const Shape& shape : {Shape{40000}, Shape{150, 260}, Shape{40, 24, 48}}) {
      std::vector<Along> matrices;
      for (const int axis : all_axes(shape)) matrices.push_back({axis, axis, difference});
      for_large_layouts(comm, shape, [&](const Layout& layout) {
        check_large(gradient<float>(layout, options), shape, matrices);
      });
    }
  });
}

TEST(LargeStencils, match_laplacian_of_five_points) {
  on_ranks([](Comm comm) {
    const auto difference = [](index_t place, index_t n) {
      Difference row = second_difference_at(place, n, {.order = 5});
      for (double& coefficient : row.coefficients) coefficient = std::round(12 * coefficient);
      return row;
    };
    for (const Shape& shape : {Shape{40000}, Shape{150, 260}, Shape{40, 24, 48}}) {
      std::vector<Along> matrices;
      for (const int axis : all_axes(shape)) matrices.push_back({axis, 0, difference});
      const LaplacianOptions options{.axes = all_axes(shape), .weights = {12}, .order = 5};
      for_large_layouts(comm, shape, [&](const Layout& layout) {
        check_large(laplacian<float>(layout, options), shape, matrices);
      });
    }
  });
}

// More taps than any of the marching kernels supports: the kernel for boundaries computes all
// points. The same holds for the adjoint of the gradient above for four axes.
TEST(LargeStencils, match_stencils_with_too_many_taps_to_march) {
  on_ranks([](Comm comm) {
    const Shape shape{6, 6, 6, 6, 6, 6, 8};
    std::vector<Along> of_laplacian;
    std::vector<Along> of_gradient;
    for (const int axis : all_axes(shape)) {
      of_laplacian.push_back(
          {axis, 0, [](index_t place, index_t n) { return second_difference_at(place, n, {}); }});
      of_gradient.push_back(
          {axis, axis, [](index_t place, index_t n) { return first_difference_at(place, n, {}); }});
    }
    for_large_layouts(comm, shape, [&](const Layout& layout) {
      check_large(laplacian<float>(layout, {.axes = all_axes(shape)}), shape, of_laplacian);
      check_large(gradient<float>(layout), shape, of_gradient);
    });
  });
}

// On a GPU, a separate kernel computes the points around the core, several per thread if there are
// many.
TEST(LargeStencils, handle_large_boundaries) {
  on_ranks([](Comm comm) {
    const Shape shape{4, 1200, 600};
    const auto second = [](index_t place, index_t n) { return second_difference_at(place, n, {}); };
    const std::vector<Along> matrices = {{0, 0, second}, {1, 0, second}, {2, 0, second}};
    for_large_layouts(comm, shape, [&](const Layout& layout) {
      check_large(laplacian<float>(layout, {.axes = all_axes(shape)}), shape, matrices);
    });
  });
}

TEST(LargeStencils, use_non_temporal_stores_correctly) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{1030, 2053}, Shape{4100, 2048}}) {
      const Layout layout = Layout::replicated(comm, shape);  // each rank has all of it
      for (const int axis : {0, 1}) {
        const Along along{
            axis, 0, [](index_t place, index_t n) { return first_difference_at(place, n, {}); }};
        check_large(first_derivative<double>(layout, {.axis = axis}), shape, {along});
        check_large(first_derivative<std::complex<float>>(layout, {.axis = axis}), shape, {along});
      }
      const auto second = [](index_t place, index_t n) {
        return second_difference_at(place, n, {});
      };
      check_large(laplacian<double>(layout), shape, {{0, 0, second}, {1, 0, second}});
    }
  });
}

// Lent memory is aligned to reals only, so that complex elements may cross cache lines, and input
// and output may have the same offset in a page, or close ones.
TEST(LargeStencils, work_at_any_alignment) {
  using C = std::complex<double>;
  const Shape shape{600, 1601};
  const Layout layout = Layout::local(shape);
  const auto count = layout.local_count();
  const std::vector<C> values = whole_numbers<C>(count);
  const LinearOperator<C> a = laplacian<C>(layout, {.axes = {0, 1}});
  const std::vector<C> expected = gathered(a * distribute<C>(layout, values));
  std::vector<double> in(static_cast<std::size_t>(2 * count + 1024));
  std::vector<double> out(in.size());
  const auto page_of = [](std::vector<double>& memory) {
    const auto beyond = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(double) % 512;
    return memory.data() + (512 - beyond);
  };
  auto* x = reinterpret_cast<C*>(page_of(in));
  std::copy(values.begin(), values.end(), x);
  const auto input = ArrayView<C>(layout, x, count);
  for (const int reals : {0, 1, 3, 4, 7, 8, 9, 64, 511}) {
    auto* y = reinterpret_cast<C*>(page_of(out) + reals);
    auto output = ArrayView<C>(layout, y, count);
    a.forward(input, output);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), y))
        << reals << " reals after a page boundary";
  }
}

}  // namespace weft::test
