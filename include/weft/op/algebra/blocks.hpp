#pragma once

// Operators side by side. Zero blocks cost nothing.

#include <weft/op/linear_operator.hpp>

#include <initializer_list>
#include <vector>

namespace weft {

/// x -> (A x, B x, ...): the range is the stack of the operators' ranges.
template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const std::vector<LinearOperator<D, R>>& operators);
/// (x, y, ...) -> A x + B y + ...: the domain is the stack of the operators' domains.
template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const std::vector<LinearOperator<D, R>>& operators);
/// (x, y, ...) -> (A x, B y, ...)
template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const std::vector<LinearOperator<D, R>>& operators);
/// Rows of operators; those in a column take the same, those in a row give the same.
template <Scalar D, Scalar R>
LinearOperator<D, R> block(const std::vector<std::vector<LinearOperator<D, R>>>& rows);

// The same over a communicator: each rank passes the operators that it has, on local layouts, and
// the operators of all ranks follow one another. A rank may have none. Collective; what is wrong
// with one rank's operators is everybody's error.

/// The domain is cut along its only axis into the ranks' arrays, each with its elements in their
/// order in memory; so is the range. No messages.
template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const Comm& comm, const std::vector<LinearOperator<D, R>>& mine);
/// The domain is replicated, the range is cut into the ranks' arrays. Forward sends nothing, the
/// adjoint is one allreduce.
template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const Comm& comm, const std::vector<LinearOperator<D, R>>& mine);
/// The other way round: the domain is cut, the range replicated.
template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const Comm& comm, const std::vector<LinearOperator<D, R>>& mine);

// Lists in braces, whose type std::vector cannot deduce.
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
