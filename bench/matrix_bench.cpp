// Matrix products against bare BLAS calls on the same data.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstdlib>

using namespace weft;

namespace {

constexpr int rounds = 15;
constexpr double bar = 1 / 0.9;

/// Small values, none of them zero.
template <class T>
void fill(DistributedArray<T>& x) {
  x.fill([](const Index& at) { return static_cast<Real<T>>(1 + (at[0] * 7 + at[1]) % 11); });
}

/// Runs f with `threads` threads of OpenBLAS, which must have one while Weft calls it.
template <class F>
void with_threads(int threads, F f) {
  openblas_set_num_threads(threads);
  f();
  openblas_set_num_threads(1);
}

void matrix_mult_on(bench::Report& report, int ranks, int threads) {
  using T = std::complex<double>;
  constexpr index_t n = 2048;
  constexpr index_t columns = 64;
  run_threads(ranks, [&](Comm comm) {
    DistributedArray<T> A(Layout::scatter(comm, {n, n}), uninitialized);
    fill(A);
    const auto M = matrix_mult(A, {.other = {columns}});
    DistributedArray<T> x(M.domain(), uninitialized);
    fill(x);
    DistributedArray<T> y(M.range());
    // The baseline is one call for the whole product, with the threads of all ranks.
    DistributedArray<T> all(Layout::local({n, n}), uninitialized);
    DistributedArray<T> product(Layout::local({n, columns}));
    if (comm.rank() == 0) fill(all);
    const T one = 1;
    const T zero = 0;
    for (const bool forward : {true, false}) {
      const auto pair = bench::compare(
          rounds, 1,
          [&] {
            comm.barrier();
            if (forward) {
              M.forward(x, y);
            } else {
              M.adjoint(y, x);
            }
            comm.barrier();
          },
          [&] {
            if (comm.rank() == 0) {
              with_threads(ranks * threads, [&] {
                cblas_zgemm(CblasRowMajor, forward ? CblasNoTrans : CblasConjTrans, CblasNoTrans, n,
                            columns, n, &one, all.data(), n, x.data(), columns, &zero,
                            product.data(), columns);
              });
            }
            comm.barrier();
          });
      if (comm.rank() != 0) continue;
      report.add(fmt::format("matrix_mult {}, {} rank(s)", forward ? "forward" : "adjoint", ranks),
                 "zgemm", pair, bar);
    }
  });
}

void fredholm1_on(bench::Report& report) {
  using T = std::complex<float>;
  constexpr index_t slices = 200;
  constexpr index_t n = 128;
  constexpr index_t nz = 16;
  DistributedArray<T> G(Layout::local({slices, n, n}), uninitialized);
  fill(G);
  const auto F = fredholm1(G, {.nz = nz});
  DistributedArray<T> x(F.domain(), uninitialized);
  fill(x);
  DistributedArray<T> y(F.range());
  const T one = 1;
  const T zero = 0;
  for (const bool forward : {true, false}) {
    const auto form = forward ? CblasNoTrans : CblasConjTrans;
    report.add(fmt::format("fredholm1 {}", forward ? "forward" : "adjoint"), "a loop of cgemm",
               bench::compare(
                   rounds, 5,
                   [&] {
                     if (forward) {
                       F.forward(x, y);
                     } else {
                       F.adjoint(y, x);
                     }
                   },
                   [&] {
#pragma omp parallel for schedule(static)
                     for (index_t s = 0; s < slices; ++s) {
                       cblas_cgemm(CblasRowMajor, form, CblasNoTrans, n, nz, n, &one,
                                   G.data() + s * n * n, n, x.data() + s * n * nz, nz, &zero,
                                   y.data() + s * n * nz, nz);
                     }
                   }),
               bar);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(
      argc, argv,
      "Products with matrices: 2048 x 2048 x 64 of c128, and 200 of 128 x 128 x 16 of c64");
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  matrix_mult_on(report, 1, cores);
  matrix_mult_on(report, 2, std::max(cores / 2, 1));
  fredholm1_on(report);
  return EXIT_SUCCESS;
}
