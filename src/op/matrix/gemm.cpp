#include "op/matrix/gemm.hpp"

#include <weft/core/parallel.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/matrix/cuda/gemm.hpp"
#include "op/matrix/gemm_block.hpp"

#include <concepts>

namespace weft::detail {
namespace {

template <class Tag, Scalar T>
void multiply(Tag tag, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
              Matrices<const T> b, T beta, Matrices<T> c) {
  if (size.k == 0 || alpha == T{}) {
    scale_block(size, beta, c);
  } else {
    gemm_block(tag, form, size, alpha, a, b, beta, c);
  }
}

/// Computes lines [first, last) of a batch: the rows of all products, or all their columns,
/// numbered consecutively.
template <class Tag, Scalar T>
void multiply_lines(Tag tag, bool rows, index_t first, index_t last, MatrixForm form,
                    const GemmSize& size, T alpha, Matrices<const T> a, Matrices<const T> b, T beta,
                    Matrices<T> c) {
  const index_t lines = rows ? size.m : size.n;
  for (index_t line = first; line < last;) {
    const index_t product = line / lines;
    const index_t begin = line - product * lines;
    const index_t count = std::min(lines - begin, last - line);
    GemmSize part = size;
    Matrices<const T> mine_a{a.data + product * a.stride, a.row};
    Matrices<const T> mine_b{b.data + product * b.stride, b.row};
    Matrices<T> mine_c{c.data + product * c.stride, c.row};
    if (rows) {
      part.m = count;
      mine_a.data += begin * (form == MatrixForm::plain ? a.row : 1);
      mine_c.data += begin * c.row;
    } else {
      part.n = count;
      mine_b.data += begin;
      mine_c.data += begin;
    }
    multiply(tag, form, part, alpha, mine_a, mine_b, beta, mine_c);
    line += count;
  }
}

template <std::derived_from<Cpu> Tag, Scalar T>
void gemm_on(Tag tag, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
             Matrices<const T> b, T beta, Matrices<T> c) {
  const bool rows = size.m >= size.n;
  const index_t lines = size.batch * std::max(size.m, size.n);
  const index_t work = size.batch * size.m * size.n * std::max(size.k, index_t{1});
  const auto threads = static_cast<int>(std::min<index_t>(threads_for(work), lines));
  share_jobs(threads, threads, [&](index_t thread) {
    multiply_lines(tag, rows, lines * thread / threads, lines * (thread + 1) / threads, form, size,
                   alpha, a, b, beta, c);
  });
}

}  // namespace

template <Scalar T>
void gemm(Device device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
          Matrices<const T> b, T beta, Matrices<T> c) {
  if (size.batch == 0 || size.m == 0 || size.n == 0) return;
  dispatch(device, [&](auto tag) { gemm_on(tag, form, size, alpha, a, b, beta, c); });
}

#define INSTANTIATE(T)                                                                             \
  template void gemm(Device, MatrixForm, const GemmSize&, T, Matrices<const T>, Matrices<const T>, \
                     T, Matrices<T>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
