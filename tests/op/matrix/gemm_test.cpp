#include "op/matrix/gemm.hpp"

#include "op/support/check_operator.hpp"

#include <weft/core/buffer.hpp>

#include <limits>

namespace weft::test {
namespace {

using weft::detail::gemm;
using weft::detail::GemmSize;
using weft::detail::Matrices;
using weft::detail::MatrixForm;

/// The matrices of a test, with padding after each row and each matrix.
template <class T>
struct Stored {
  index_t rows;
  index_t columns;
  index_t row;
  index_t stride;
  std::vector<T> values;

  Stored(index_t batch, index_t rows_, index_t columns_, int seed)
      : rows(rows_),
        columns(columns_),
        row(columns + 2),
        stride(rows * row + 3),
        values(static_cast<std::size_t>(batch * stride)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = value<T>(static_cast<index_t>(i), seed);
    }
  }
  T& at(index_t b, index_t i, index_t j) {
    return values[static_cast<std::size_t>(b * stride + i * row + j)];
  }
};

template <class T>
Buffer<T> on_device(Device device, const std::vector<T>& values) {
  Buffer<T> copy(static_cast<index_t>(values.size()), device);
  copy_bytes(copy.data(), device, values.data(), Device::cpu(), values.size() * sizeof(T));
  return copy;
}

template <class T>
T entry(Stored<T>& a, MatrixForm form, index_t b, index_t i, index_t k) {
  if (form == MatrixForm::plain) return a.at(b, i, k);
  if constexpr (is_complex<T>) {
    if (form == MatrixForm::adjoint) return std::conj(a.at(b, k, i));
  }
  return a.at(b, k, i);
}

/// Entries are integers, so that results are exact.
template <class T>
void check_gemm(Device device, MatrixForm form, const GemmSize& size, T alpha, T beta) {
  SCOPED_TRACE(testing::Message() << to_string(device) << ", form " << static_cast<int>(form)
                                  << ", " << size.batch << " of " << size.m << " x " << size.n
                                  << " x " << size.k << ", " << alpha << ", " << beta);
  const bool plain = form == MatrixForm::plain;
  Stored<T> a(size.batch, plain ? size.m : size.k, plain ? size.k : size.m, 1);
  Stored<T> b(size.batch, size.k, size.n, 2);
  Stored<T> c(size.batch, size.m, size.n, 3);
  Stored<T> expected = c;
  for (index_t s = 0; s < size.batch; ++s) {
    for (index_t i = 0; i < size.m; ++i) {
      for (index_t j = 0; j < size.n; ++j) {
        T sum{};
        for (index_t k = 0; k < size.k; ++k) sum += entry(a, form, s, i, k) * b.at(s, k, j);
        expected.at(s, i, j) = alpha * sum + beta * c.at(s, i, j);
        if (beta == T{}) c.at(s, i, j) = std::numeric_limits<Real<T>>::quiet_NaN();
      }
    }
  }
  const Buffer<T> left = on_device(device, a.values);
  const Buffer<T> right = on_device(device, b.values);
  Buffer<T> out = on_device(device, c.values);
  gemm<T>(device, form, size, alpha, {left.data(), a.row, a.stride},
          {right.data(), b.row, b.stride}, beta, {out.data(), c.row, c.stride});
  copy_bytes(c.values.data(), Device::cpu(), out.data(), device, c.values.size() * sizeof(T));
  EXPECT_EQ(c.values, expected.values);
}

template <class F>
void for_each_form(F f) {
  for (const MatrixForm form : {MatrixForm::plain, MatrixForm::transpose, MatrixForm::adjoint}) {
    f(form);
  }
}

}  // namespace

TEST(Gemm, matches_reference_for_any_form_and_size) {
  for_each_scalar([](auto example) {
    using T = decltype(example);
    for (const Device device : {Device::cpu(), other_device()}) {
      for_each_form([&](MatrixForm form) {
        for (const GemmSize& size :
             {GemmSize{3, 4, 5}, GemmSize{1, 1, 1}, GemmSize{5, 1, 7}, GemmSize{1, 6, 4},
              GemmSize{4, 3, 0}, GemmSize{0, 3, 2}, GemmSize{3, 0, 2}, GemmSize{4, 1, 0},
              GemmSize{3, 2, 4, 5}, GemmSize{2, 1, 3, 4}, GemmSize{2, 2, 2, 0}}) {
          check_gemm<T>(device, form, size, 1, 0);
          check_gemm<T>(device, form, size, 2, 3);
          check_gemm<T>(device, form, size, 0, 1);
          check_gemm<T>(device, form, size, 0, 0);
          if constexpr (is_complex<T>) check_gemm<T>(device, form, size, {1, 2}, {-1, 1});
        }
      });
    }
  });
}

// Large enough for several threads, whose shares begin and end within a product.
TEST(Gemm, divides_work_among_threads) {
  on_ranks([](Comm) {
    for_each_scalar([](auto example) {
      using T = decltype(example);
      for_each_form([](MatrixForm form) {
        for (const GemmSize& size : {GemmSize{67, 33, 71}, GemmSize{33, 67, 71},
                                     GemmSize{301, 1, 203}, GemmSize{31, 17, 41, 3}}) {
          check_gemm<T>(Device::cpu(), form, size, 2, -1);
          check_gemm<T>(Device::cpu(), form, size, 1, 0);
        }
      });
    });
  });
}

TEST(Gemm, accepts_one_matrix_for_a_whole_batch) {
  const std::vector<double> a = {1, 2, 3, 4};
  const std::vector<double> b = {1, 0, 0, 1};
  std::vector<double> c(4);
  gemm<double>(Device::cpu(), MatrixForm::transpose, {2, 1, 2, 2}, 1, {a.data(), 2},
               {b.data(), 1, 2}, 0, {c.data(), 1, 2});
  EXPECT_EQ(c, (std::vector<double>{1, 2, 3, 4}));
}

}  // namespace weft::test
