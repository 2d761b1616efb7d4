#pragma once

// Small systems with matrices that are replicated on every rank, and their direct solution. Complex
// numbers are represented by two real ones, so that every operator has a real matrix.

#include <weft/array/distributed_array.hpp>
#include <weft/op/linear_operator.hpp>

#include "op/support/check_operator.hpp"

#include <cmath>
#include <vector>

namespace weft::test {

struct RealMatrix {
  index_t rows = 0;
  index_t columns = 0;
  std::vector<double> values = {};

  RealMatrix(index_t row_count, index_t column_count)
      : rows(row_count),
        columns(column_count),
        values(static_cast<std::size_t>(row_count * column_count)) {}
  double& operator()(index_t row, index_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  double operator()(index_t row, index_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

RealMatrix transposed(const RealMatrix& a);
RealMatrix product(const RealMatrix& a, const RealMatrix& b);
std::vector<double> product(const RealMatrix& a, const std::vector<double>& x);
/// a + factor b
std::vector<double> plus(const std::vector<double>& a, double factor, const std::vector<double>& b);
double size_of_vector(const std::vector<double>& x);

/// Integers from -9 to 9.
RealMatrix some_real_matrix(index_t rows, index_t columns, int seed = 0);
std::vector<double> some_vector(index_t size, int seed = 0);
/// A matrix with orthonormal columns; rows >= columns.
RealMatrix some_orthonormal(index_t rows, index_t columns, int seed = 0);
/// A matrix with logarithmically spaced singular values from 1 to 1 / condition.
RealMatrix matrix_of_condition(index_t rows, index_t columns, double condition);

/// The shortest x that minimises |y - A x|² + damp² |x|², by QR with two rounds of Gram-Schmidt.
/// Except for zero columns, A must have full rank.
std::vector<double> least_squares(const RealMatrix& a, const std::vector<double>& y,
                                  double damp = 0);

/// Real and imaginary parts of numbers, and back.
template <Scalar T>
std::vector<double> parts_of(const std::vector<T>& numbers) {
  std::vector<double> parts;
  for (const T number : numbers) {
    parts.push_back(static_cast<double>(std::real(number)));
    if constexpr (is_complex<T>) parts.push_back(static_cast<double>(std::imag(number)));
  }
  return parts;
}
template <Scalar T>
std::vector<T> numbers_of(const std::vector<double>& parts) {
  std::vector<T> numbers;
  for (std::size_t i = 0; i < parts.size(); i += is_complex<T> ? 2 : 1) {
    if constexpr (is_complex<T>) {
      numbers.push_back({static_cast<Real<T>>(parts[i]), static_cast<Real<T>>(parts[i + 1])});
    } else {
      numbers.push_back(static_cast<T>(parts[i]));
    }
  }
  return numbers;
}

/// The known matrix of a test operator.
template <Scalar D, Scalar R>
RealMatrix real_matrix(const Expected<D, R>& expected) {
  constexpr index_t per_column = is_complex<D> ? 2 : 1;
  constexpr index_t per_row = is_complex<R> ? 2 : 1;
  RealMatrix matrix(expected.rows * per_row, expected.columns * per_column);
  for (index_t row = 0; row < expected.rows; ++row) {
    for (index_t column = 0; column < expected.columns; ++column) {
      const auto at = static_cast<std::size_t>(row * expected.columns + column);
      const R entries[] = {expected.on_real[at], expected.on_imag[at]};
      for (index_t k = 0; k < per_column; ++k) {
        matrix(row * per_row, column * per_column + k) = static_cast<double>(std::real(entries[k]));
        if constexpr (is_complex<R>) {
          matrix(row * per_row + 1, column * per_column + k) =
              static_cast<double>(std::imag(entries[k]));
        }
      }
    }
  }
  return matrix;
}

/// All elements of an array, on every rank; the parts of a stack one after the other.
template <Scalar T>
std::vector<T> whole(const ConstArrayView<T>& x) {
  if (!x.layout().is_stack()) return x.all_gather();
  std::vector<T> all;
  for (int index = 0; index < x.layout().part_count(); ++index) {
    const std::vector<T> part = whole(x.part(index));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// |x - expected| <= tolerance |expected|
template <Scalar T>
void expect_near(const ConstArrayView<T>& x, const std::vector<double>& expected,
                 double tolerance) {
  const std::vector<double> seen = parts_of(whole(x));
  ASSERT_EQ(seen.size(), expected.size());
  EXPECT_LE(size_of_vector(plus(seen, -1, expected)), tolerance * size_of_vector(expected));
}

/// The operator of a matrix that is distributed by rows, between distributed arrays.
LinearOperator<double> operator_of(const Comm& comm, const RealMatrix& matrix,
                                   Device device = Device::cpu());
/// A distributed vector.
DistributedArray<double> array_of(const Layout& layout, const std::vector<double>& values);

/// A matrix and data, replicated on every rank and distributed over the ranks.
struct Problem {
  Problem(const Comm& comm, const RealMatrix& of, Device device = Device::cpu(), int seed = 5)
      : matrix(of),
        a(operator_of(comm, of, device)),
        data(some_vector(of.rows, seed)),
        y(array_of(a.range(), data)) {}

  RealMatrix matrix;
  LinearOperator<double> a;
  std::vector<double> data;
  DistributedArray<double> y;
};

}  // namespace weft::test
