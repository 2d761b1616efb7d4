#pragma once

// Block operators: operators stacked vertically, horizontally, along a diagonal or in a grid. Zero
// blocks cost nothing.

#include <weft/op/linear_operator.hpp>

#include <initializer_list>
#include <vector>

namespace weft {

/// y = (A x, B x, ...). All operators have the same domain; the range is the stack of their ranges.
/// PyLops: VStack.
template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const std::vector<LinearOperator<D, R>>& operators);
/// y = A x0 + B x1 + ... for the stack x = (x0, x1, ...) of their domains. All operators have the
/// same range. PyLops: HStack.
template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const std::vector<LinearOperator<D, R>>& operators);
/// y = (A x0, B x1, ...) for the stack x = (x0, x1, ...). PyLops: BlockDiag.
template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const std::vector<LinearOperator<D, R>>& operators);
/// y[i] = sum over j of A[i][j] x[j] for a grid of operators, given by rows. Operators of a column
/// have the same domain, those of a row the same range. PyLops: Block.
template <Scalar D, Scalar R>
LinearOperator<D, R> block(const std::vector<std::vector<LinearOperator<D, R>>>& rows);

// Block operators over a communicator. Each rank passes its own operators, on local layouts; the
// blocks are those of all ranks, in rank order. A rank may have none; its arrays are then on the
// default device of the communicator. Collective: if the operators of one rank are invalid, all
// ranks throw the same error.

/// Domain and range are one-dimensional: each rank's part concatenates the elements of its
/// operators' arrays, in their order in memory. No communication. PyLops-MPI: MPIBlockDiag.
template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const Comm& comm, const std::vector<LinearOperator<D, R>>& mine);
/// The domain is replicated, the range distributed as in block_diag. The adjoint needs one
/// allreduce, forward no communication. PyLops-MPI: MPIVStack.
template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const Comm& comm, const std::vector<LinearOperator<D, R>>& mine);
/// The domain is distributed as in block_diag, the range replicated. Forward needs one allreduce,
/// the adjoint no communication. PyLops-MPI: MPIHStack.
template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const Comm& comm, const std::vector<LinearOperator<D, R>>& mine);

// Overloads for braced lists, from which the vector's type cannot be deduced.
template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(std::initializer_list<LinearOperator<D, R>> operators) {
  return vstack(std::vector(operators));
}
template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(std::initializer_list<LinearOperator<D, R>> operators) {
  return hstack(std::vector(operators));
}
template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(std::initializer_list<LinearOperator<D, R>> operators) {
  return block_diag(std::vector(operators));
}
template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const Comm& comm, std::initializer_list<LinearOperator<D, R>> mine) {
  return vstack(comm, std::vector(mine));
}
template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const Comm& comm, std::initializer_list<LinearOperator<D, R>> mine) {
  return hstack(comm, std::vector(mine));
}
template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const Comm& comm,
                                std::initializer_list<LinearOperator<D, R>> mine) {
  return block_diag(comm, std::vector(mine));
}
template <Scalar D, Scalar R>
LinearOperator<D, R> block(
    std::initializer_list<std::initializer_list<LinearOperator<D, R>>> rows) {
  return block(std::vector<std::vector<LinearOperator<D, R>>>(rows.begin(), rows.end()));
}

}  // namespace weft
