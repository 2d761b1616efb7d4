#pragma once

#include <weft/op/linear_operator.hpp>

#include <optional>

namespace weft {

struct KroneckerOptions {
  /// Distributes the matrix over these ranks, which all have the same A and B.
  std::optional<Comm> over = {};
};

/// A ⊗ B on matrices: y = A X Bᵀ, where X has a row for every element of A's domain and a column
/// for every element of B's. Applies B to the rows, then A to the columns. A and B are on local
/// layouts, of one device; their arrays are taken in row-major order. Vectors of the product are
/// matrices in row-major order; reshape() turns them into arrays of one axis, or of more. A factor
/// is applied to one row after the other: threads share the work within a row. PyLops: Kronecker.
///
/// By default the matrix is local. With `over`, the rows of X are distributed, and the columns of
/// y: B is applied to each rank's rows, A to its columns, with one all_to_all in between. The
/// result of A ⊗ B is thus cut as (A ⊗ B)ᴴ expects its input. redistribute() cuts it by rows again.
///
/// If the columns of X are distributed and B is the identity, nothing has to move: each rank passes
/// kronecker(A, identity(its columns)) to block_diag over the communicator, and relabel() converts
/// between the layouts.
template <Scalar D, Scalar E, Scalar R>
LinearOperator<D, R> kronecker(const LinearOperator<E, R>& a, const LinearOperator<D, E>& b,
                               const KroneckerOptions& options = {});

}  // namespace weft
