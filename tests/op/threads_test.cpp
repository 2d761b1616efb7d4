// Operators and array arithmetic on one rank with two threads: both threads must get work.

#include <weft/array/random.hpp>
#include <weft/weft.hpp>

#include "support/parallel_regions.hpp"

#include <gtest/gtest.h>

#include <complex>

namespace weft::test {
namespace {

using C = std::complex<double>;

// Arrays of one line, of many lines, of fewer lines than equal shares need, and of many short
// lines.
const Shape line{1 << 20};
const Shape plane{1024, 1024};
const Shape few{3, 1 << 19};
const Shape thin{1 << 18, 4};
const Shape volume{64, 64, 256};

void expect_shared(const std::string& name, const std::function<void()>& work) {
  work();
  TimeOfThreads best;
  // Noise differs between attempts; a loop that is not shared fails all of them.
  for (int attempt = 0; attempt < 10; ++attempt) {
    best = time_of_threads(work);
    const double least = std::min(best.first, best.second);
    const double most = std::max(best.first, best.second);
    // A loop that is not shared leaves one thread without work, or is outside a parallel region.
    // The bounds allow for what else takes time on different machines and with different libraries.
    if (least > 0.25 * most && best.alone < 0.75 * (least + most)) return;
  }
  ADD_FAILURE() << name << ": " << best.alone * 1e3 << " ms alone, then " << best.first * 1e3
                << " ms and " << best.second * 1e3 << " ms on two threads";
}

template <Scalar D, Scalar R>
void expect_shared(const std::string& name, const LinearOperator<D, R>& a) {
  const auto x = random_array<D>(a.domain(), 1);
  DistributedArray<R> y(a.range());
  expect_shared(fmt::format("{}, {}", name, to_string(x.shape())), [&] { a.forward(x, y); });
  DistributedArray<D> back(a.domain());
  expect_shared(fmt::format("{}, {}, adjoint", name, to_string(x.shape())),
                [&] { a.adjoint(y, back); });
}

std::vector<index_t> every_second(index_t n) {
  std::vector<index_t> indices;
  for (index_t i = 0; i < n; i += 2) indices.push_back(i);
  return indices;
}

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_time_threads())
      GTEST_SKIP() << "threads are timed in GOMP_parallel, which only GCC calls";
  }

 private:
  TwoThreads threads_;  // set before operators are constructed, which plan for them
};

}  // namespace

TEST_F(Threads, share_arithmetic) {
  for (const Shape& shape : {line, few, thin}) {
    const Layout layout = Layout::local(shape);
    auto x = random_array<double>(layout, 1);
    auto y = random_array<double>(layout, 2);
    expect_shared("fill", [&] { x.fill(1.0); });
    expect_shared("fill_random " + to_string(shape), [&] { fill_random(x, 3); });
    expect_shared("copy", [&] { copy(x, y); });
    expect_shared("axpy", [&] { axpy(1e-9, x, y); });
    expect_shared("dot", [&] { dot(x, y); });
    expect_shared("norm", [&] { norm(x); });
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      expect_shared(fmt::format("norm_along {} of {}", axis, to_string(shape)),
                    [&] { norm_along(x, axis); });
    }
    std::vector<double> host(static_cast<std::size_t>(x.local_count()));
    expect_shared("from_host", [&] { x.from_host(host); });
  }
}

TEST_F(Threads, share_elementwise_operators) {
  for (const Shape& shape : {line, plane, few}) {
    const Layout layout = Layout::local(shape);
    const int last = shape.ndim() - 1;
    expect_shared("identity", identity<double>(layout));
    expect_shared("diagonal(d)", diagonal<double>(random_array<double>(layout, 4)));
    expect_shared(
        "diagonal along the last axis",
        diagonal<double>(layout, std::vector<double>(static_cast<std::size_t>(shape[last]), 2)));
    expect_shared("restriction", restriction<double>(layout, every_second(shape[last])));
    expect_shared("pad", pad<double>(layout, std::vector<AxisPadding>(
                                                 static_cast<std::size_t>(shape.ndim()), {3, 5})));
    expect_shared("halo",
                  halo<double>(layout, std::vector<AxisPadding>(
                                           static_cast<std::size_t>(shape.ndim()), {2, 1})));
    expect_shared("real_part", real_part<C>(layout));
    expect_shared("cast", cast<float>(layout));
    expect_shared("cast", cast<std::complex<float>, double>(layout));
    expect_shared("relabel", relabel<double>(layout, Layout::local({layout.count()})));
    expect_shared("conjugation", conjugation<C>(layout));
  }
  for (const Shape& shape : {line, plane, few, thin}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      expect_shared(fmt::format("sum_along {}", axis),
                    sum_along<double>(Layout::local(shape), {.axis = axis}));
    }
  }
  expect_shared("reshape", reshape<double>(Layout::local(plane), Layout::local({512, 2048})));
  expect_shared("memoize", memoize(identity<double>(Layout::local(plane)) * 2));
  expect_shared("transpose_axes", transpose_axes<double>(Layout::local(plane), {1, 0}));
  expect_shared("transpose_axes", transpose_axes<double>(Layout::local(volume), {2, 0, 1}));
}

TEST_F(Threads, share_stencils_and_convolutions) {
  const std::vector<double> filter(9, 0.5);
  for (const Shape& shape : {line, plane, volume}) {
    const Layout layout = Layout::local(shape);
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      expect_shared(fmt::format("first_derivative {}", axis),
                    first_derivative<double>(layout, {.axis = axis}));
      expect_shared(fmt::format("second_derivative {}", axis),
                    second_derivative<double>(layout, {.axis = axis}));
      expect_shared(fmt::format("convolve1d {}", axis),
                    convolve1d<double>(layout, filter, {.offset = 4, .axis = axis}));
      expect_shared(
          fmt::format("non_stationary_convolve1d {}", axis),
          non_stationary_convolve1d<double>(layout, {filter, filter}, {10, 40}, {.axis = axis}));
    }
    expect_shared("gradient", gradient<double>(layout));
  }
  for (const Shape& shape : {line, plane, thin}) {
    const Layout layout = Layout::local(shape);
    expect_shared("dwtnd", dwtnd<double>(layout, {.wavelet = "db4", .level = 2}));
    expect_shared("swt", swt<double>(layout, {.wavelet = "db4", .axis = 0, .level = 2}));
  }
  expect_shared("laplacian", laplacian<double>(Layout::local(plane), {.axes = {0, 1}}));
  const Layout layout = Layout::local(plane);
  expect_shared("convolve_nd",
                convolve_nd<double>(layout, {3, 3}, filter, {.method = ConvolutionMethod::direct}));
  const FilterBank<double> bank{{3, 3}, {{0}, {0, 512}}, std::vector<double>(18, 0.5)};
  expect_shared("non_stationary_convolve2d", non_stationary_convolve2d<double>(layout, bank));
  expect_shared("non_stationary_filters2d",
                non_stationary_filters2d<double>(random_array<double>(layout, 5), bank.shape,
                                                 bank.positions));
  expect_shared("gaussian_filter", gaussian_filter<double>(layout));
  expect_shared("downsample", downsample<double>(layout));
  expect_shared("poststack_modelling", poststack_modelling<double>(layout, filter));
  expect_shared("avo_modelling",
                avo_modelling<double>(Layout::local({256, 3, 1024}), {10, 20, 30}));
}

TEST_F(Threads, share_interpolation) {
  for (const Shape& shape : {line, plane, volume}) {
    const Layout layout = Layout::local(shape);
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      std::vector<double> positions;
      for (index_t i = 0; i < shape[axis] - 1; ++i) {
        positions.push_back(static_cast<double>(i) + 0.3);
      }
      for (const InterpKind kind : {InterpKind::linear, InterpKind::cubic_spline}) {
        expect_shared(fmt::format("interp of kind {} along {}", static_cast<int>(kind), axis),
                      interp<double>(layout, positions, {.axis = axis, .kind = kind}));
      }
    }
  }
}

TEST_F(Threads, share_moves_and_running_sums) {
  for (const Shape& shape : {line, plane, few, thin}) {
    const Layout layout = Layout::local(shape);
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      expect_shared(fmt::format("flip {}", axis), flip<double>(layout, {.axis = axis}));
      expect_shared(fmt::format("roll {}", axis),
                    roll<double>(layout, {.axis = axis, .shift = shape[axis] / 2}));
      expect_shared(fmt::format("symmetrize {}", axis), symmetrize<double>(layout, {.axis = axis}));
      expect_shared(fmt::format("causal_integration {}", axis),
                    causal_integration<double>(layout, {.axis = axis}));
      expect_shared(fmt::format("smoothing {}", axis),
                    smoothing<double>(layout, {9}, {.axes = {axis}}));
    }
  }
  expect_shared("regression",
                regression<double>(random_array<double>(Layout::local(plane), 8), {.order = 3}));
  const auto along = [](index_t, index_t it0, index_t ix) {
    return static_cast<double>(it0) + 0.01 * static_cast<double>(ix);
  };
  for (const bool on_the_fly : {false, true}) {
    expect_shared("spread", spread<double>(Layout::local({32, 512}), Layout::local({64, 600}),
                                           along, {.on_the_fly = on_the_fly}));
  }
}

TEST_F(Threads, share_matrix_products) {
  expect_shared("matrix_mult", matrix_mult<double>(random_array<double>(Layout::local(plane), 5)));
  expect_shared("summa",
                summa<double>(random_array<double>(Layout::local({512, 512}), 5), {.columns = 64}));
  expect_shared(
      "fredholm1",
      fredholm1<double>(random_array<double>(Layout::local({64, 128, 128}), 6), {.nz = 4}));
}

TEST_F(Threads, share_sparse_products) {
  constexpr index_t n = 1 << 18;
  const Layout layout = Layout::local({n});
  CsrMatrix<double> matrix;
  for (index_t row = 0; row < n; ++row) {
    for (const index_t column : {row / 3, (row + n) / 2}) {
      matrix.columns.push_back(column);
      matrix.values.push_back(2);
    }
    matrix.row_begins.push_back(std::ssize(matrix.values));
  }
  expect_shared("sparse_matrix", sparse_matrix(matrix, layout, layout));
}

TEST_F(Threads, share_windows) {
  const auto of = [](const Shape& window) { return identity<double>(Layout::local(window)); };
  expect_shared("sliding2d", sliding2d(Layout::local(plane), of({128, 1024}),
                                       {.window = {128}, .overlap = {64}}));
  expect_shared("patch2d",
                patch2d(Layout::local(plane), of({256, 256}), {.window = {256}, .overlap = {128}}));
}

TEST_F(Threads, share_combined_operators) {
  const Layout layout = Layout::local(plane);
  const auto a = diagonal<double>(random_array<double>(layout, 7));
  expect_shared("2 A - A^H A", 2 * a - adjoint(a) * a);
  const auto filter = first_derivative<double>(Layout::local({1 << 15}));
  expect_shared("kronecker", kronecker(identity<double>(Layout::local({32})), filter));
  expect_shared("vstack", vstack({a, identity<double>(layout)}));
}

#if defined(WEFT_WITH_FFTW)
TEST_F(Threads, share_transforms) {
  for (const Shape& shape : {plane, Shape{1500, 1111}}) {
    for (const int axis : {0, 1}) {
      expect_shared(fmt::format("fft {}", axis), fft<double>(Layout::local(shape), {.axis = axis}));
    }
    expect_shared("dct", dct<double>(Layout::local(shape)));
    expect_shared("fftnd", fftnd<C>(Layout::local(shape)));
  }
}

TEST_F(Threads, share_radon_transforms) {
  const std::vector<double> positions(64, 0.1);
  expect_shared("chirp_radon2d", chirp_radon2d<double>(Layout::local({128, 1024}), {}));
  expect_shared("fourier_radon2d",
                fourier_radon2d<double>(Layout::local({64, 4096}), {positions, positions}));
}
#endif

}  // namespace weft::test
