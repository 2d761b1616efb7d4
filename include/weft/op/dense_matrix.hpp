#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

/// A dense matrix in row-major order, replicated on every rank.
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

/// The matrix of an operator. Rows and columns index the global arrays in row-major order, the
/// parts of a stack one after the other. Applies the operator to every unit vector, so it is meant
/// for tests and small operators. Throws for maps of complex arrays that are only real-linear,
/// which have no complex matrix. Collective.
template <Scalar D, Scalar R>
DenseMatrix<R> todense(const LinearOperator<D, R>& a);

}  // namespace weft
