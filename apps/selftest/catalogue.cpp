#include "selftest/catalogue.hpp"

#include <weft/array/random.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <complex>
#include <numeric>

namespace weft::app {
namespace {

#ifdef WEFT_WITH_FFTW
constexpr bool has_fft = true;
#else
constexpr bool has_fft = false;
#endif

/// The last axis, then the others in their order.
std::vector<int> rotated_axes(int count) {
  std::vector<int> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), -1);
  axes[0] = count - 1;
  return axes;
}

/// The values in turn, `count` of them.
template <class T>
std::vector<T> repeated(const std::vector<T>& values, int count) {
  std::vector<T> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    all.push_back(values[i % values.size()]);
  return all;
}

}  // namespace

template <Scalar T>
std::vector<CatalogueEntry> catalogue(const Layout& layout) {
  std::vector<CatalogueEntry> entries;
  const auto add = [&](const std::string& name, const auto& a) {
    entries.push_back({name, [a] { return dot_test(a); }});
  };
  const Comm& comm = layout.comm();
  const Shape& shape = layout.shape();
  const int last = shape.ndim() - 1;
  DistributedArray<T> d(layout, uninitialized);
  fill_random(d, 7);

  add("identity", identity<T>(layout));
  add("zero", zero<T>(layout, layout));
  add("diagonal", diagonal<T>(d));
  add("restriction", restriction<T>(layout, {0, 2, 2, shape[last] - 1}));
  add("transpose_axes", transpose_axes<T>(layout, rotated_axes(shape.ndim())));
  add("pad", pad<T>(layout, repeated<AxisPadding>({{1, 2}, {0, 3}, {2, 0}}, shape.ndim())));
  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("sum_along, axis {}", axis), sum_along<T>(layout, {.axis = axis}));
  }
  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("flip, axis {}", axis), flip<T>(layout, {.axis = axis}));
    add(fmt::format("roll, axis {}", axis), roll<T>(layout, {.axis = axis, .shift = 3}));
    add(fmt::format("symmetrize, axis {}", axis), symmetrize<T>(layout, {.axis = axis}));
  }
  add("regression", regression<T>(random_array<Real<T>>(layout, 5), {.order = 3}));
  add("redistribute",
      redistribute<T>(layout, Layout::scatter(comm, shape, std::min(1, last)).on(layout.device())));
  add("real_part", real_part<T>(layout));
  add("imag_part", imag_part<T>(layout));
  add("conjugation", conjugation<T>(layout));
  add("halo", halo<T>(layout, repeated<AxisPadding>({{1, 2}, {1, 0}, {2, 1}}, shape.ndim()),
                      {.boundary = Boundary::reflect}));

  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("first_derivative, axis {}", axis),
        first_derivative<T>(layout, {.axis = axis, .edge = true, .order = 5}));
    add(fmt::format("second_derivative, axis {}", axis),
        second_derivative<T>(layout, {.axis = axis, .sampling = 0.5}));
  }
  add("laplacian", laplacian<T>(layout, {.axes = rotated_axes(shape.ndim()),
                                         .weights = repeated<double>({1, 2, 3}, shape.ndim())}));
  add("gradient", gradient<T>(layout, {.kind = DerivativeKind::forward}));

  const std::vector<T> filter = {T(1), T(-2), T(3), T(0.5)};
  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("convolve1d, axis {}", axis),
        convolve1d<T>(layout, filter, {.offset = 1, .axis = axis}));
  }
  add("smoothing",
      smoothing<T>(layout, std::vector<index_t>(static_cast<std::size_t>(last + 1), 5)));
  add("non_stationary_convolve1d",
      non_stationary_convolve1d<T>(layout, {{T(1), T(2), T(1)}, {T(0), T(1), T(3)}}, {1, 3}));
  if (has_fft) {
    for (int axis = 0; axis <= last; ++axis) {
      add(fmt::format("fft, axis {}", axis), fft<T>(layout, {.axis = axis, .nfft = 16}));
    }
    add("fftnd", fftnd<T>(layout));
  }

  const Device device = layout.device();
  const auto matrix = [&](const Layout& cut) { return random_array<T>(cut.on(device), 3); };
  add("matrix_mult, rows",
      matrix_mult<T>(matrix(Layout::scatter(comm, {9, 7})), {.other = Shape{3}}));
  add("matrix_mult, columns",
      matrix_mult<T>(matrix(Layout::scatter(comm, {9, 7}, 1)), {.scattered = true}));
  add("matrix_mult, grid", matrix_mult<T>(matrix(Layout::bricks(comm, {9, 7}))));
  add("summa", summa<T>(matrix(Layout::bricks(comm, {9, 7})), {.columns = 5}));
  add("fredholm1", fredholm1<T>(matrix(Layout::scatter(comm, {6, 4, 3})), {.nz = 2}));

  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("causal_integration, axis {}", axis),
        causal_integration<T>(layout, {.axis = axis, .sampling = 0.1}));
  }
  const Layout columns = Layout::scatter(comm, {9, 7}).on(device);
  add("spread", spread<T>(Layout::replicated(comm, {3, 5}).on(device), columns,
                          [](index_t ix0, index_t it0, index_t ix) {
                            return static_cast<double>(it0) + 0.3 * static_cast<double>(ix0 * ix);
                          }));

  const auto scaling = diagonal<T>(d);
  add("2 A - A^H A", 2 * scaling - adjoint(scaling) * scaling);
  add("vstack", vstack({scaling, identity<T>(layout)}));
  add("hstack", hstack({scaling, identity<T>(layout)}));
  add("block_diag", block_diag({scaling, identity<T>(layout)}));
  const Layout local = Layout::local({5 + comm.rank()}).on(layout.device());
  const Layout model = Layout::local({5}).on(layout.device());
  add("block_diag over ranks", block_diag(comm, std::vector{identity<T>(local)}));
  add("vstack over ranks", vstack(comm, std::vector{3 * identity<T>(model)}));
  return entries;
}

#define INSTANTIATE(T) template std::vector<CatalogueEntry> catalogue<T>(const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::app
