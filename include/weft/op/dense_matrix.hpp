#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

/// A matrix that every rank has whole, in row-major order.
template <Scalar T>
struct DenseMatrix {
  index_t rows = 0;
  index_t columns = 0;
  std::vector<T> values;

  DenseMatrix(index_t row_count, index_t column_count)
      : rows(row_count),
        columns(column_count),
        values(static_cast<std::size_t>(Shape{row_count, column_count}.count())) {}
  T& operator()(index_t row, index_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  const T& operator()(index_t row, index_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// The matrix of an operator between the global arrays in row-major order; of a stack, one part
/// after the other. Applies the operator to each unit vector: for small ones, to look at and to
/// test. Maps of complex arrays that are linear over real numbers only have no such matrix.
template <Scalar D, Scalar R>
DenseMatrix<R> todense(const LinearOperator<D, R>& a);

}  // namespace weft
