#include "op/support/check_operator.hpp"

#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/dot_test.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::test {
namespace {

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// conj(a) b
template <class T>
T conj_product(T a, T b) {
  if constexpr (is_complex<T>) {
    // Written out, so that the compiler fuses nothing that kernels do not fuse.
    return {a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real()};
  } else {
    return a * b;
  }
}

/// This rank's elements of a global array.
template <class T>
std::vector<T> local_part(const Layout& layout, const std::vector<T>& global) {
  std::vector<T> local;
  index_t first = 0;
  for_each_leaf_of(layout, [&](const Layout& leaf) {
    for_each_point(leaf.box(), [&](const Index& point) {
      local.push_back(global[at(first + position_of(leaf.shape(), point))]);
    });
    first += elements_of(leaf.shape());
  });
  return local;
}

template <class T>
void expect_close(const ConstArrayView<T>& seen, const std::vector<T>& global, double tolerance,
                  const char* what) {
  const std::vector<T> expected = local_part(seen.layout(), global);
  const std::vector<T> values = seen.to_host();
  ASSERT_EQ(values.size(), expected.size());
  double largest = 0;
  for (const T value : global) largest = std::max<double>(largest, std::abs(value));
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool right = std::abs(values[i] - expected[i]) <= tolerance * largest;
    if (right || ++wrong > 3) continue;
    EXPECT_EQ(values[i], expected[i]) << what << ", element " << i;
  }
  EXPECT_EQ(wrong, 0) << what;
}

template <class T>
void fill_with_nan(DistributedArray<T>& x) {
  const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (is_complex<T>) {
    x.fill(T{nan, nan});
  } else {
    x.fill(nan);
  }
}

template <class T>
T some_factor() {
  if constexpr (is_complex<T>) return {2, -1};
  return 3;
}

/// alpha a + beta b, element by element.
template <class T>
std::vector<T> combined(T alpha, const std::vector<T>& a, T beta, const std::vector<T>& b) {
  std::vector<T> result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(alpha * a[i] + beta * b[i]);
  return result;
}

/// One direction of an operator: `apply(in, out, update)` against the expected result of `in`.
template <class T, class U, class Apply>
void check_direction(const Layout& from, const Layout& to, const std::vector<U>& product,
                     double tolerance, const std::string& name, Apply apply) {
  SCOPED_TRACE(name);
  const auto in = make_array<T>(from, 1);
  DistributedArray<U> out(to, uninitialized);
  for (int repeat = 0; repeat < 2; ++repeat) {
    fill_with_nan(out);
    apply(in, out, Update<U>{});
    expect_close(out, product, tolerance, "over NaN");
  }
  const std::vector<U> before = global_values<U>(to, 2);
  const U alpha = some_factor<U>();
  const U beta = U{-2};
  const auto expect_update = [&](Update<U> update, const char* what) {
    out.from_host(local_values<U>(to, 2));
    apply(in, out, update);
    expect_close(out, combined(update.alpha, product, update.beta, before), tolerance, what);
  };
  expect_update({1, 1}, "added");
  expect_update({alpha, beta}, "scaled and added");
  expect_update({0, 1}, "left as it was");
  fill_with_nan(out);
  apply(in, out, Update<U>{alpha, 0});
  expect_close(out, combined(alpha, product, U{}, before), tolerance, "scaled over NaN");
  EXPECT_EQ(in.to_host(), local_values<T>(from, 1)) << "the input was written";
}

}  // namespace

template <Scalar D, Scalar R>
Expected<D, R>::Expected(index_t rows_, index_t columns_, const Entry& entry)
    : Expected(rows_, columns_, entry, [&](index_t row, index_t column) {
        const R value = entry(row, column);
        if constexpr (is_complex<R>) return R{-value.imag(), value.real()};
        return R{};
      }) {}

template <Scalar D, Scalar R>
Expected<D, R>::Expected(index_t rows_, index_t columns_, const Entry& real, const Entry& imag)
    : rows(rows_), columns(columns_) {
  for (index_t row = 0; row < rows; ++row) {
    for (index_t column = 0; column < columns; ++column) {
      on_real.push_back(real(row, column));
      on_imag.push_back(imag(row, column));
    }
  }
}

template <Scalar D, Scalar R>
std::vector<R> Expected<D, R>::forward(const std::vector<D>& x) const {
  std::vector<R> y(at(rows));
  for (index_t row = 0; row < rows; ++row) {
    for (index_t column = 0; column < columns; ++column) {
      const std::size_t entry = at(row * columns + column);
      y[at(row)] += static_cast<Real<R>>(std::real(x[at(column)])) * on_real[entry];
      y[at(row)] += static_cast<Real<R>>(std::imag(x[at(column)])) * on_imag[entry];
    }
  }
  return y;
}

template <Scalar D, Scalar R>
std::vector<D> Expected<D, R>::adjoint(const std::vector<R>& y) const {
  std::vector<D> x(at(columns));
  for (index_t row = 0; row < rows; ++row) {
    for (index_t column = 0; column < columns; ++column) {
      const std::size_t entry = at(row * columns + column);
      const auto product = [&](const std::vector<R>& matrix) {
        return static_cast<Real<D>>(std::real(conj_product(matrix[entry], y[at(row)])));
      };
      const Real<D> real = product(on_real);
      if constexpr (is_complex<D>) {
        x[at(column)] += D{real, product(on_imag)};
      } else {
        x[at(column)] += real;
      }
    }
  }
  return x;
}

template <Scalar D, Scalar R>
void check_operator(const LinearOperator<D, R>& a, const Expected<D, R>& expected,
                    double tolerance) {
  SCOPED_TRACE(a.describe());
  ASSERT_EQ(a.domain().count(), expected.columns);
  ASSERT_EQ(a.range().count(), expected.rows);
  const std::vector<R> y = expected.forward(global_values<D>(a.domain(), 1));
  const std::vector<D> x = expected.adjoint(global_values<R>(a.range(), 1));
  const auto forward = [](const auto& of) {
    return [&of](const auto& in, auto& out, auto update) { of.forward(in, out, update); };
  };
  const auto adjoint_of = [](const auto& of) {
    return [&of](const auto& in, auto& out, auto update) { of.adjoint(in, out, update); };
  };
  const auto adjoint_a = adjoint(a);
  const auto again = adjoint(adjoint_a);
  check_direction<D, R>(a.domain(), a.range(), y, tolerance, "forward", forward(a));
  check_direction<R, D>(a.range(), a.domain(), x, tolerance, "adjoint", adjoint_of(a));
  check_direction<R, D>(a.range(), a.domain(), x, tolerance, "adjoint(A)", forward(adjoint_a));
  expect_close(again * make_array<D>(a.domain(), 1), y, tolerance, "adjoint(adjoint(A))");
  const DotTestResult dots = dot_test(a);
  EXPECT_LE(dots.error, std::max(dots.tolerance, tolerance)) << to_string(dots);
}

template <Scalar D, Scalar R>
Expected<D, R> some_matrix(index_t rows, index_t columns, int seed) {
  return {rows, columns,
          [=](index_t row, index_t column) { return value<R>(row * columns + column, 77 + seed); }};
}

template <Scalar D, Scalar R>
LinearOperator<D, R> some_operator(const Layout& domain, const Layout& range, int seed) {
  const auto matrix = some_matrix<D, R>(range.count(), domain.count(), seed);
  // Every rank computes the full product from the gathered array.
  const auto whole = []<Scalar T>(const ConstArrayView<T>& x) {
    std::vector<T> all;
    const auto append = [&](const auto& self, const ConstArrayView<T>& array) -> void {
      if (!array.layout().is_stack()) {
        const std::vector<T> values = array.all_gather();
        all.insert(all.end(), values.begin(), values.end());
        return;
      }
      for (int i = 0; i < array.layout().part_count(); ++i) self(self, array.part(i));
    };
    append(append, x);
    return all;
  };
  return function_operator<D, R>(
      domain, range,
      [=](const ConstArrayView<D>& x, const ArrayView<R>& y) {
        y.from_host(local_part(y.layout(), matrix.forward(whole(x))));
      },
      [=](const ConstArrayView<R>& y, const ArrayView<D>& x) {
        x.from_host(local_part(x.layout(), matrix.adjoint(whole(y))));
      },
      fmt::format("some operator {}", seed));
}

index_t calls_of(const Comm& comm, const std::function<void()>& f) {
  comm.reset_stats();
  f();
  return comm.stats().total().calls;
}

#define INSTANTIATE(D, R)                                                                   \
  template struct Expected<D, R>;                                                           \
  template void check_operator(const LinearOperator<D, R>&, const Expected<D, R>&, double); \
  template LinearOperator<D, R> some_operator(const Layout&, const Layout&, int);           \
  template Expected<D, R> some_matrix(index_t, index_t, int);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(D, R)         \
  template struct Expected<D, R>; \
  template void check_operator(const LinearOperator<D, R>&, const Expected<D, R>&, double);
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::test
