// Array arithmetic on one rank against loops over raw pointers.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cmath>
#include <cstdlib>

using namespace weft;

namespace {

// Hand-written loops with the same threads and instructions.

void raw_axpy(index_t n, double a, const double* x, double* y) {
#pragma omp parallel for simd schedule(static)
  for (index_t i = 0; i < n; ++i) y[i] += a * x[i];
}

double raw_dot(index_t n, const double* x, const double* y) {
  double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (index_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

double raw_axpy_dot(index_t n, double a, const double* x, double* y) {
  double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (index_t i = 0; i < n; ++i) {
    y[i] += a * x[i];
    sum += y[i] * y[i];
  }
  return sum;
}

// A user's stencil through LocalView and through pointers, on arrays that fit into the cache.

void stencil(LocalView<const double> x, LocalView<double> y) {
  for (index_t i = 1; i + 1 < x.extent(0); ++i) {
    for (index_t j = 1; j + 1 < x.extent(1); ++j) {
      y(i, j) = x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1) - 4 * x(i, j);
    }
  }
}

void raw_stencil(index_t rows, index_t columns, const double* x, double* y) {
  for (index_t i = 1; i + 1 < rows; ++i) {
    for (index_t j = 1; j + 1 < columns; ++j) {
      const double* at = x + i * columns + j;
      y[i * columns + j] = at[-columns] + at[columns] + at[-1] + at[1] - 4 * at[0];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv, "Array arithmetic, 4 M doubles, 1 rank");
  const Layout layout = Layout::local({2048, 2048});
  DistributedArray<double> x(layout);
  DistributedArray<double> y(layout);
  x.fill([](const Index& at) { return 1e-3 * static_cast<double>(at[0] - at[1]); });
  y.fill(1.0);
  const index_t n = x.local_count();
  constexpr int rounds = 31;
  constexpr double bar = 1.15;
  volatile double sink = 0;

  report.add(
      "axpy", "raw loop",
      bench::compare(
          rounds, 5, [&] { axpy(1e-9, x, y); }, [&] { raw_axpy(n, 1e-9, x.data(), y.data()); }),
      bar);
  report.add(
      "dot", "raw loop",
      bench::compare(
          rounds, 5, [&] { sink = dot(x, y); }, [&] { sink = raw_dot(n, x.data(), y.data()); }),
      bar);
  report.add("norm", "raw loop",
             bench::compare(
                 rounds, 5, [&] { sink = norm(x); },
                 [&] { sink = std::sqrt(raw_dot(n, x.data(), x.data())); }),
             bar);
  report.add("axpy_dot", "raw loop",
             bench::compare(
                 rounds, 5, [&] { sink = axpy_dot(1e-9, x, y, y); },
                 [&] { sink = raw_axpy_dot(n, 1e-9, x.data(), y.data()); }),
             bar);
  const DistributedArray<double> from(Layout::local({128, 128}));
  DistributedArray<double> to(from.layout());
  report.add("elements of a LocalView", "raw loop",
             bench::compare(
                 rounds, 100, [&] { stencil(from.view(), to.view()); },
                 [&] { raw_stencil(128, 128, from.data(), to.data()); }),
             bar);
  return EXIT_SUCCESS;
}
