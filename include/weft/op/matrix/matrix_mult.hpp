#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct MatrixMultOptions {
  /// Further axes of model and data, after the first: A multiplies each of these columns.
  Shape other = {};
  /// For a matrix distributed along one axis: also distribute the model or data that would be
  /// replicated, evenly along its first axis. Model and data then have the same kind of layout, so
  /// that such operators compose.
  bool scattered = false;
};

/// y = A x for a model x of shape [m, other...], data y of shape [n, other...] and a matrix A of
/// shape [n, m], whose blocks stay on their ranks. PyLops: MatrixMult; PyLops-MPI: MPIMatrixMult
/// (kind "block").
///
/// | A is distributed along | model      | data       | forward        | adjoint        |
/// |------------------------|------------|------------|----------------|----------------|
/// | no axis                | replicated | replicated | -              | -              |
/// | rows                   | replicated | as rows    | -              | allreduce      |
/// | rows, scattered        | evenly     | as rows    | all_gather     | reduce_scatter |
/// | columns                | as columns | replicated | allreduce      | -              |
/// | columns, scattered     | as columns | evenly     | reduce_scatter | all_gather     |
/// | both, p x q ranks      | as columns | as rows    | allreduce      | allreduce      |
///
/// The last two columns are the communication. On p x q ranks, each of the p rows of ranks has a
/// copy of the model and each of the q columns of ranks a copy of the data; messages stay within a
/// row (forward) or a column (adjoint). A second matrix can follow the first if its columns are
/// distributed as the first one's rows are, over the same ranks: that is
/// permute_axes(Layout::bricks(comm, {m, n}, {p, q}), {1, 0}), of shape [n, m].
///
/// Move A into the call to avoid a copy.
template <Scalar T>
LinearOperator<T> matrix_mult(DistributedArray<T> matrix, const MatrixMultOptions& options = {});

struct MatrixMultAlongOptions {
  /// The axis of the model to multiply along. The first is the fastest.
  int axis = 0;
};

/// y[.., i, ..] = sum over j of A[i, j] x[.., j, ..] along any axis of the model x.
/// Every rank has all of A (a local or a replicated layout), and the axis must not be distributed.
/// No communication.
template <Scalar T>
LinearOperator<T> matrix_mult(DistributedArray<T> matrix, const Layout& model,
                              const MatrixMultAlongOptions& options = {});

struct SummaOptions {
  /// Columns of model and data.
  index_t columns = 1;
};

/// y = A x by the SUMMA algorithm, for a model of shape [m, columns] and data of shape [n,
/// columns]. A, model and data are all distributed along both axes over the same grid of ranks, so
/// that no rank holds more than its blocks. Use it for models too large for matrix_mult, which
/// sends less. PyLops-MPI: MPIMatrixMult (kind "summa").
///
/// Communication on p x q ranks, for at most p + q - 1 panels: a panel of A is broadcast along rows
/// of ranks, and a panel of the model is broadcast (forward) or reduced (adjoint) along columns of
/// ranks. The model is distributed evenly, the data as A is; operators compose if the rows of A are
/// distributed evenly.
template <Scalar T>
LinearOperator<T> summa(DistributedArray<T> matrix, const SummaOptions& options = {});

}  // namespace weft
