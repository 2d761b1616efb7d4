#pragma once

// Compares operators with matrices that tests build from definitions. Vectors are global arrays in
// row-major order, the parts of a stack one after the other. Their elements are small integers: if
// the entries of a matrix are integers as well, results are exact.

#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/linear_operator.hpp>

#include "array/layouts.hpp"
#include "support/ranks.hpp"

#include <functional>
#include <vector>

namespace weft::test {

/// The expected matrices of an operator: A x = on_real Re(x) + on_imag Im(x).
template <Scalar D, Scalar R = D>
struct Expected {
  using Entry = std::function<R(index_t row, index_t column)>;

  /// A matrix operator.
  Expected(index_t rows, index_t columns, const Entry& entry);
  /// A real-linear operator.
  Expected(index_t rows, index_t columns, const Entry& on_real, const Entry& on_imag);

  std::vector<R> forward(const std::vector<D>& x) const;
  /// The adjoint with respect to the real inner product.
  std::vector<D> adjoint(const std::vector<R>& y) const;

  index_t rows;
  index_t columns;
  std::vector<R> on_real;
  std::vector<R> on_imag;
};

/// The matrix of an identity.
template <Scalar T>
Expected<T> identity_matrix(index_t n) {
  return {n, n, [](index_t i, index_t j) { return i == j ? T{1} : T{}; }};
}

/// Checks forward, adjoint and adjoint(A) with various alpha and beta; that outputs are not read if
/// beta = 0, and inputs not written; and the dot test. The tolerance is relative to the largest
/// element; 0 means bitwise equality.
template <Scalar D, Scalar R>
void check_operator(const LinearOperator<D, R>& a, const Expected<D, R>& expected,
                    double tolerance = 0);

/// f(layout) for layouts of all kinds of one shape, on the CPU and on other_device(). On the debug
/// device, only for complex<float> and some of the layouts: it is slow, and any of them finds wrong
/// memory accesses.
template <Scalar T>
void for_operator_layouts(const Comm& comm, const Shape& shape, const LayoutTest& f) {
  const std::vector<NamedLayout> all = layouts(comm, shape);
  for_each_layout(all, f);
  const bool debug = other_device().kind == DeviceKind::debug;
  if (debug && !std::same_as<T, std::complex<float>>) return;
  for (std::size_t i = 0; i < all.size(); i += debug ? 5 : 1) {
    SCOPED_TRACE(all[i].name + " on " + to_string(other_device()));
    f(all[i].layout.on(other_device()));
  }
}

/// An operator between any layouts with a full matrix of small integers, for tests of the algebra.
template <Scalar D, Scalar R = D>
LinearOperator<D, R> some_operator(const Layout& domain, const Layout& range, int seed);
/// Its matrix.
template <Scalar D, Scalar R = D>
Expected<D, R> some_matrix(index_t rows, index_t columns, int seed);

/// The collective calls and sends that f makes on this rank.
index_t calls_of(const Comm& comm, const std::function<void()>& f);

/// Expects that call() throws an E on this rank whose text contains all of `words`, and that the
/// communicator still works afterwards.
template <class E>
void expect_error(const Comm& comm, const std::vector<std::string>& words,
                  const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error, but one was expected with '" << words.front() << "'";
  } catch (const E& error) {
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is not in: " << error.what();
    }
  }
  EXPECT_EQ(comm.allreduce(1), comm.size());
}

}  // namespace weft::test
