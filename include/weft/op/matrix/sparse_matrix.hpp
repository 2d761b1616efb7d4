#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

/// A sparse matrix in compressed rows: row i has the entries [row_begins[i], row_begins[i + 1]),
/// with ascending columns.
template <Scalar T>
struct CsrMatrix {
  std::vector<index_t> row_begins = {0};
  std::vector<index_t> columns = {};
  std::vector<T> values = {};

  index_t rows() const { return static_cast<index_t>(row_begins.size()) - 1; }
};

/// A sparse matrix as a list of entries, in any order. Entries at the same place are added, in the
/// order of the list.
template <Scalar T>
struct CooMatrix {
  std::vector<index_t> rows = {};
  std::vector<index_t> columns = {};
  std::vector<T> values = {};
};

struct SparseMatrixOptions {
  /// Each rank passes the rows of its part of the data only; otherwise all ranks pass the same
  /// matrix. Columns, and the rows of a CooMatrix, are numbered in the whole matrix.
  bool own_rows = false;
};

/// y = A x for a sparse matrix A. Model and data may have any shapes with as many elements as A has
/// columns and rows, which number them in row-major order.
///
/// | model      | data       | forward                   | adjoint           |
/// |------------|------------|---------------------------|-------------------|
/// | replicated | replicated | -                         | -                 |
/// | replicated | axis 0     | -                         | allreduce         |
/// | axis 0     | axis 0     | one message per neighbour | the same messages |
///
/// The last columns are the communication of layouts that are local or replicated, or distributed
/// along axis 0. Neighbours are ranks that have elements of the model in columns of this rank's
/// rows, and those whose rows have columns of this rank; a message has every such element once. The
/// messages are planned at construction, by two collective calls.
///
/// The transposed matrix is stored as well, so that no sum depends on timing. Indices are stored
/// with 32 bits if they fit. Sums add local columns first, and in the adjoint, contributions in the
/// order of ranks.
template <Scalar T>
LinearOperator<T> sparse_matrix(const CsrMatrix<T>& matrix, const Layout& domain,
                                const Layout& range, const SparseMatrixOptions& options = {});
template <Scalar T>
LinearOperator<T> sparse_matrix(const CooMatrix<T>& matrix, const Layout& domain,
                                const Layout& range, const SparseMatrixOptions& options = {});

}  // namespace weft
