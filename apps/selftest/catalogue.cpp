#include "selftest/catalogue.hpp"

#include <weft/array/layout_transforms.hpp>
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
void test_catalogue(
    const Layout& layout,
    const std::function<void(const std::string& name, const DotTestResult& result)>& report) {
  const auto add = [&](const std::string& name, const auto& a) { report(name, dot_test(a)); };
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
  add("reshape", reshape<T>(layout, Layout::scatter(comm, {shape.count()}).on(layout.device())));
  const index_t ranks = comm.size();
  add("relabel", relabel<T>(Layout::scatter(comm, {3, 2 * ranks}, 1).on(layout.device()),
                            Layout::scatter(comm, {6 * ranks}).on(layout.device())));
  add("cast", cast<T>(layout));
  const bool on_host = layout.device().host_accessible();
  add("to_device", to_device<T>(layout, on_host ? Device::debug() : Device::cpu()));
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
  const std::vector<double> direction = repeated<double>({1, -2, 0.5}, shape.ndim());
  add("first_directional_derivative",
      first_directional_derivative<T>(layout, direction, {.edge = true, .order = 9}));
  add("second_directional_derivative", second_directional_derivative<T>(layout, direction));

  const std::vector<T> filter = {T(1), T(-2), T(3), T(0.5)};
  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("convolve1d, axis {}", axis),
        convolve1d<T>(layout, filter, {.offset = 1, .axis = axis}));
  }
  add("smoothing",
      smoothing<T>(layout, std::vector<index_t>(static_cast<std::size_t>(last + 1), 5)));
  add("non_stationary_convolve1d",
      non_stationary_convolve1d<T>(layout, {{T(1), T(2), T(1)}, {T(0), T(1), T(3)}}, {1, 3}));
  add("convolve_nd", convolve_nd<T>(layout, Shape(Index::filled(last + 1, 1)).with(last, 4), filter,
                                    {.method = ConvolutionMethod::direct}));
  if (last > 0) {
    add("non_stationary_convolve2d",
        non_stationary_convolve2d<T>(layout, {{1, 3}, {{1}, {1}}, {T(1), T(2), T(3)}}));
    add("non_stationary_filters2d", non_stationary_filters2d<T>(d, {1, 3}, {{1}, {1, 2}}));
  }
  if (last > 1) {
    add("non_stationary_convolve3d",
        non_stationary_convolve3d<T>(layout, {{1, 1, 3}, {{0}, {0}, {1}}, {T(1), T(2), T(3)}}));
  }
  add("non_stationary_filters1d", non_stationary_filters1d<T>(d, 3, {0, 2}));
  add("gaussian_filter", gaussian_filter<T>(layout, {.truncate = 2}));
  add("downsample", downsample<T>(layout, {.truncate = 2, .axes = {-1}}));
  add("poststack_modelling", poststack_modelling<T>(layout, filter));
  add("avo_modelling",
      avo_modelling<T>(Layout::scatter(comm, {8, 3, 2}).on(layout.device()), {5, 15, 25}));
  add("prestack_modelling",
      prestack_modelling<T>(Layout::scatter(comm, {8, 3, 2}).on(layout.device()), filter, {5, 15}));
  if (has_fft) {
    add("dct", dct<T>(layout));
    for (int axis = 0; axis <= last; ++axis) {
      add(fmt::format("fft, axis {}", axis), fft<T>(layout, {.axis = axis, .nfft = 16}));
      add(fmt::format("shift, axis {}", axis), shift<T>(layout, {.shift = {1.3}, .axis = axis}));
    }
    add("fftnd", fftnd<T>(layout));
    if (shape.ndim() > 1) add("fft2d", fft2d<T>(layout));
  }

  for (const InterpKind kind :
       {InterpKind::nearest, InterpKind::linear, InterpKind::sinc, InterpKind::cubic_spline}) {
    const int axis = static_cast<int>(kind) % (last + 1);
    const auto end = static_cast<double>(shape[axis] - 1);
    add(fmt::format("interp, kind {}", static_cast<int>(kind)),
        interp<T>(layout, {end, 0.3 * end, 0, 0.7 * end}, {.axis = axis, .kind = kind}));
  }
  if (last >= 1) add("bilinear", bilinear<T>(layout, {{0.4, 0.6}, {0, 0.3}, {0.4, 0.6}}));
  if (last >= 2) add("trilinear", trilinear<T>(layout, {{0.4, 0.6, 0.1}, {0, 0.3, 1}}));
  add("dwtnd", dwtnd<T>(layout, {.wavelet = "sym4", .level = 2}));
  if (last > 0) add("dwt2d", dwt2d<T>(layout, {.wavelet = "db2"}));
  for (int axis = 0; axis <= last; ++axis) {
    add(fmt::format("dwt, axis {}", axis),
        dwt<T>(layout, {.wavelet = "bior2.4", .axis = axis, .level = 2}));
    add(fmt::format("swt, axis {}", axis), swt<T>(layout, {.wavelet = "db3", .axis = axis}));
  }

  const Device device = layout.device();
  const auto matrix = [&](const Layout& cut) { return random_array<T>(cut.on(device), 3); };
  add("matrix_mult, rows",
      matrix_mult<T>(matrix(Layout::scatter(comm, {9, 7})), {.other = Shape{3}}));
  add("matrix_mult, columns",
      matrix_mult<T>(matrix(Layout::scatter(comm, {9, 7}, 1)), {.scattered = true}));
  add("matrix_mult, grid", matrix_mult<T>(matrix(Layout::bricks(comm, {9, 7}))));
  add("summa", summa<T>(matrix(Layout::bricks(comm, {9, 7})), {.columns = 5}));
  const Layout slices = Layout::scatter(comm, {6, 4, 3});
  add("fredholm1", fredholm1<T>(matrix(slices), {.nz = 2}));
  if constexpr (!is_complex<T>) {
    if (has_fft) {
      const RadonAxis radon{.offsets = {1, 2.5, 3}, .slownesses = {0.1, 0.4}};
      const Layout rays = Layout::scatter(comm, {2, 9}).on(device);
      const Layout cube = Layout::scatter(comm, {2, 2, 9}).on(device);
      add("fourier_radon2d", fourier_radon2d<T>(rays, radon));
      add("fourier_radon3d", fourier_radon3d<T>(cube, radon, radon));
      add("chirp_radon2d", chirp_radon2d<T>(rays, {}));
      add("chirp_radon3d", chirp_radon3d<T>(cube, {}, {}));
      add("mdc", mdc<T>(random_array<std::complex<T>>(slices.on(device), 3), {.nt = 11, .nv = 2}));
    }
  }
  const CooMatrix<T> sparse{{0, 8, 3, 0, 5}, {6, 0, 3, 1, 6}, {T(2), T(-1), T(3), T(1), T(4)}};
  const Layout sparse_model = Layout::scatter(comm, {7}).on(device);
  const Layout sparse_data = Layout::scatter(comm, {9}).on(device);
  add("sparse_matrix", sparse_matrix(sparse, sparse_model, sparse_data));
  add("sparse_matrix, replicated model",
      sparse_matrix(sparse, replicated_like(sparse_model, {7}), sparse_data));

  const auto in_window = [&](const Shape& window) {
    return matrix_mult<T>(random_array<T>(Layout::local({window.count(), 3}).on(device), 4));
  };
  const Layout along_first = Layout::scatter(comm, {14, 6}).on(device);
  const Layout line = Layout::scatter(comm, {14}).on(device);
  const Layout volume = Layout::scatter(comm, {8, 5, 4}).on(device);
  add("sliding", sliding(along_first, in_window({2, 6}), {0}, {.window = {2}}));
  add("sliding1d", sliding1d(line, in_window({5}), {.window = {5}, .overlap = {2}}));
  add("sliding2d", sliding2d(along_first, in_window({5, 6}), {.window = {5}, .overlap = {2}}));
  add("sliding3d", sliding3d(volume, in_window({5, 5, 4}), {.window = {5}, .overlap = {2}}));
  const WindowOptions cubes{.window = {5, 5, 4}, .overlap = {2}};
  add("patch", patch(volume, in_window({5, 5, 4}), cubes));
  add("patch3d", patch3d(volume, in_window({5, 5, 4}), cubes));
  add("patch2d", patch2d(along_first, in_window({5, 4}), {.window = {5, 4}, .overlap = {2}}));

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
  add("scaled transpose", scaled(3, transpose(scaling)));
  add("conj, pow", pow(conj(scaling), 2));
  add("block", block({{scaling, identity<T>(layout)}, {zero<T>(layout, layout), scaling}}));
  add("memoize", memoize(scaling));
  add("vstack", vstack({scaling, identity<T>(layout)}));
  add("hstack", hstack({scaling, identity<T>(layout)}));
  add("block_diag", block_diag({scaling, identity<T>(layout)}));
  const Layout local = Layout::local({5 + comm.rank()}).on(layout.device());
  const Layout model = Layout::local({5}).on(layout.device());
  const auto difference = first_derivative<T>(Layout::local({6}).on(layout.device()));
  add("kronecker", kronecker(difference, difference));
  add("kronecker over ranks", kronecker(difference, difference, {.over = comm}));
  add("block_diag over ranks", block_diag(comm, std::vector{identity<T>(local)}));
  add("vstack over ranks", vstack(comm, std::vector{3 * identity<T>(model)}));
}

#define INSTANTIATE(T)             \
  template void test_catalogue<T>( \
      const Layout&, const std::function<void(const std::string&, const DotTestResult&)>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::app
