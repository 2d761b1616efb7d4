// Matrix products: blocks over ranks, one distributed matrix, and many small ones, as in integrals
// over frequencies. The floor is the BLAS call for the part of a rank.

#include "apply.hpp"

#include <cblas.h>

using namespace weft;
using nlohmann::json;

namespace compare {
namespace {

using Complex = std::complex<double>;

/// C = op(A) B in row-major order.
void gemm(bool adjoint, index_t rows, index_t columns, index_t other, const double* a,
          const double* b, double* c) {
  const auto form = adjoint ? CblasTrans : CblasNoTrans;
  const auto [m, k] = adjoint ? std::pair(columns, rows) : std::pair(rows, columns);
  if (other == 1) {  // faster than a product with one column
    cblas_dgemv(CblasRowMajor, form, static_cast<blasint>(rows), static_cast<blasint>(columns), 1,
                a, static_cast<blasint>(columns), b, 1, 0, c, 1);
    return;
  }
  cblas_dgemm(CblasRowMajor, form, CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(other), static_cast<blasint>(k), 1, a,
              static_cast<blasint>(columns), b, static_cast<blasint>(other), 0, c,
              static_cast<blasint>(other));
}

template <class R, class Gemm, class Gemv>
void complex_gemm(Gemm gemm_call, Gemv gemv_call, bool adjoint, index_t rows, index_t columns,
                  index_t other, const std::complex<R>* a, const std::complex<R>* b,
                  std::complex<R>* c) {
  const std::complex<R> one = 1;
  const std::complex<R> zero = 0;
  const auto form = adjoint ? CblasConjTrans : CblasNoTrans;
  const auto [m, k] = adjoint ? std::pair(columns, rows) : std::pair(rows, columns);
  if (other == 1) {
    gemv_call(CblasRowMajor, form, static_cast<blasint>(rows), static_cast<blasint>(columns), &one,
              a, static_cast<blasint>(columns), b, 1, &zero, c, 1);
    return;
  }
  gemm_call(CblasRowMajor, form, CblasNoTrans, static_cast<blasint>(m), static_cast<blasint>(other),
            static_cast<blasint>(k), &one, a, static_cast<blasint>(columns), b,
            static_cast<blasint>(other), &zero, c, static_cast<blasint>(other));
}

void gemm(bool adjoint, index_t rows, index_t columns, index_t other, const Complex* a,
          const Complex* b, Complex* c) {
  complex_gemm<double>(cblas_zgemm, cblas_zgemv, adjoint, rows, columns, other, a, b, c);
}

void gemm(bool adjoint, index_t rows, index_t columns, index_t other, const std::complex<float>* a,
          const std::complex<float>* b, std::complex<float>* c) {
  complex_gemm<float>(cblas_cgemm, cblas_cgemv, adjoint, rows, columns, other, a, b, c);
}

/// The time of this rank's products of `slices` matrices with `other` columns each.
template <Scalar T>
double gemm_floor(const Session& session, bool adjoint, index_t slices, index_t rows,
                  index_t columns, index_t other) {
  const auto filled = [](index_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = noise_of<T>(static_cast<index_t>(i), 1);
    }
    return values;
  };
  const auto [in, out] = adjoint ? std::pair(rows, columns) : std::pair(columns, rows);
  const std::vector<T> a = filled(slices * rows * columns);
  const std::vector<T> x = filled(slices * in * other);
  std::vector<T> y(static_cast<std::size_t>(slices * out * other));
  return median(session
                    .time([&] {
                      for (index_t s = 0; s < slices; ++s) {
                        gemm(adjoint, rows, columns, other, a.data() + s * rows * columns,
                             x.data() + s * in * other, y.data() + s * out * other);
                      }
                    })
                    .seconds);
}

bool is_adjoint(const json& options) { return options.value("direction", "forward") == "adjoint"; }

/// The number of `count` items on a rank; the first ranks have one more.
index_t share(const Comm& comm, index_t count, int rank) {
  return count / comm.size() + (rank < count % comm.size() ? 1 : 0);
}
index_t share(const Comm& comm, index_t count) { return share(comm, count, comm.rank()); }

using Stack = LinearOperator<double> (*)(const Comm&, const std::vector<LinearOperator<double>>&);

Outcome run_stack(Session& session, const json& options, Stack stack) {
  const auto n = options.at("n").get<index_t>();
  const auto blocks = options.at("blocks").get<index_t>();
  const Comm& comm = session.comm();
  const index_t mine = share(comm, blocks);
  index_t first = 0;
  for (int rank = 0; rank < comm.rank(); ++rank) first += share(comm, blocks, rank);
  std::vector<LinearOperator<double>> operators;
  for (index_t block = first; block < first + mine; ++block) {
    DistributedArray<double> a(Layout::local({n, n}));
    fill_noise(a, static_cast<std::uint64_t>(10 + block));
    operators.push_back(matrix_mult(std::move(a)));
  }
  return {time_apply(session, options, stack(comm, operators)),
          gemm_floor<double>(session, is_adjoint(options), mine, n, n, 1), "dgemv alone"};
}

Outcome run_block_diag(Session& session, const json& options) {
  return run_stack(session, options, block_diag<double, double>);
}
Outcome run_vstack(Session& session, const json& options) {
  return run_stack(session, options, vstack<double, double>);
}
Outcome run_hstack(Session& session, const json& options) {
  return run_stack(session, options, hstack<double, double>);
}

struct Sizes {
  index_t n, k, m;
  explicit Sizes(const json& options)
      : n(options.at("n").get<index_t>()),
        k(options.at("k").get<index_t>()),
        m(options.at("m").get<index_t>()) {}
};

template <Scalar T>
Outcome run_block_matrix(Session& session, const json& options) {
  const Sizes size(options);
  DistributedArray<T> a(Layout::scatter(session.comm(), {size.n, size.k}));
  fill_noise(a, 10);
  const auto A = matrix_mult(std::move(a), {.other = {size.m}, .scattered = true});
  return {
      time_apply(session, options, A),
      gemm_floor<T>(session, is_adjoint(options), 1, share(session.comm(), size.n), size.k, size.m),
      "gemm alone"};
}

template <Scalar T>
Outcome run_summa_matrix(Session& session, const json& options) {
  const Sizes size(options);
  DistributedArray<T> a(Layout::bricks(session.comm(), {size.n, size.k}));
  fill_noise(a, 10);
  const auto A = summa(std::move(a), {.columns = size.m});
  return {
      time_apply(session, options, A),
      gemm_floor<T>(session, is_adjoint(options), 1, share(session.comm(), size.n), size.k, size.m),
      "gemm alone"};
}

Outcome run_matrix(Session& session, const json& options) {
  const bool is_complex = options.at("dtype") == "complex128";
  if (options.at("kind") == "summa") {
    return is_complex ? run_summa_matrix<Complex>(session, options)
                      : run_summa_matrix<double>(session, options);
  }
  return is_complex ? run_block_matrix<Complex>(session, options)
                    : run_block_matrix<double>(session, options);
}

template <Scalar T>
DistributedArray<T> kernel_of(const Session& session, const json& options) {
  const Shape shape = shape_of(options);
  DistributedArray<T> kernel(Layout::scatter(session.comm(), shape));
  fill_noise(kernel, 10, 1 / std::sqrt(static_cast<double>(shape[1])));
  return kernel;
}

Outcome run_fredholm1(Session& session, const json& options) {
  using T = std::complex<float>;
  const Shape shape = shape_of(options);
  const auto nz = options.at("nz").get<index_t>();
  const auto F = fredholm1(kernel_of<T>(session, options),
                           {.nz = nz, .replicated = options.at("layout") == "replicated"});
  return {time_apply(session, options, F),
          gemm_floor<T>(session, is_adjoint(options), share(session.comm(), shape[0]), shape[1],
                        shape[2], nz),
          "gemm alone"};
}

#ifdef WEFT_WITH_FFTW
Outcome run_mdc(Session& session, const json& options) {
  using T = std::complex<float>;
  const Shape shape = shape_of(options);
  const auto M = mdc(kernel_of<T>(session, options), {.nt = options.at("nt").get<index_t>()},
                     {.prescaled = true});
  return {time_apply(session, options, M),
          gemm_floor<T>(session, is_adjoint(options), share(session.comm(), shape[0]), shape[1],
                        shape[2], 1),
          "cgemv alone"};
}
#endif

}  // namespace

std::vector<Named> matrix_problems() {
  return {
#ifdef WEFT_WITH_FFTW
      {"mdc", run_mdc},
#endif
      {"block_diag", run_block_diag},
      {"vstack", run_vstack},
      {"hstack", run_hstack},
      {"matrix_mult", run_matrix},
      {"fredholm1", run_fredholm1}};
}

}  // namespace compare
