#pragma once

// Sparse matrices on the host: checks, conversions and the parts that sparse_matrix.cpp multiplies
// by.

#include <weft/op/matrix/sparse_matrix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::detail {

/// Consecutive elements [begin, end) of a vector.
struct ElementRange {
  index_t begin = 0;
  index_t end = 0;

  index_t count() const { return end - begin; }
};

/// The error in rows `rows` of a matrix with a number of columns, which the matrix holds alone;
/// empty if there is none.
template <Scalar T>
std::string error_in(const CsrMatrix<T>& matrix, ElementRange rows, index_t columns);
/// Of a list whose entries must all be in these rows.
template <Scalar T>
std::string error_in(const CooMatrix<T>& matrix, ElementRange rows, index_t columns);

/// Rows `rows` of a valid matrix whose first row is number `first`.
template <Scalar T>
CsrMatrix<T> take_rows(const CsrMatrix<T>& matrix, ElementRange rows, index_t first);
/// Sorts entries by place and adds those at the same place.
template <Scalar T>
CsrMatrix<T> take_rows(const CooMatrix<T>& matrix, ElementRange rows, index_t first);

/// A hash of all entries, for comparison between ranks.
template <Scalar T>
std::uint64_t hash_of(const CsrMatrix<T>& matrix);
template <Scalar T>
std::uint64_t hash_of(const CooMatrix<T>& matrix);

/// The rows of a rank, divided by who has the elements of the model.
template <Scalar T>
struct DividedRows {
  /// Columns in a range, counted from its beginning.
  CsrMatrix<T> own;
  /// Other columns, by their place in `ghosts`: only rows that have any, whose numbers are in
  /// `ghost_rows`.
  CsrMatrix<T> with_ghosts;
  std::vector<index_t> ghost_rows = {};
  /// The other columns, ascending.
  std::vector<index_t> ghosts = {};
};
template <Scalar T>
DividedRows<T> divide(const CsrMatrix<T>& rows, ElementRange own_columns);

/// Its rows are the columns of `matrix`. `row_numbers`, if any, are the columns of the result that
/// rows of `matrix` become.
template <Scalar T>
CsrMatrix<T> transposed(const CsrMatrix<T>& matrix, index_t columns,
                        const std::vector<index_t>& row_numbers = {});

}  // namespace weft::detail
