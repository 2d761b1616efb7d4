#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct MatrixMultOptions {
  /// The axes that model and data have after the first: every one of these columns is multiplied.
  Shape other = {};
  /// For a matrix that is cut along one axis: the side that all ranks would have a copy of is cut
  /// along its first axis instead, into equal parts. Model and data then have the same kind of
  /// layout, so that such operators can follow one another.
  bool scattered = false;
};

/// Model [m, other...] to data [n, other...] by a matrix A of shape [n, m], whose parts stay where
/// they are:
///
/// | A is cut along     | the model is     | the data are  | forward        | adjoint        |
/// |--------------------|------------------|---------------|----------------|----------------|
/// | no axis            | on every rank    | on every rank | -              | -              |
/// | rows               | on every rank    | cut like rows | -              | allreduce      |
/// | rows, scattered    | cut evenly       | cut like rows | all_gather     | reduce_scatter |
/// | columns            | cut like columns | on every rank | allreduce      | -              |
/// | columns, scattered | cut like columns | cut evenly    | reduce_scatter | all_gather     |
/// | both, p x q ranks  | cut like columns | cut like rows | allreduce      | allreduce      |
///
/// On p x q ranks, each of the p rows of ranks has the model and each of the q columns of ranks has
/// the data; messages stay within a row (forward) or a column (adjoint). A second matrix can follow
/// the first if its columns are cut as the first one's rows are, and on the same ranks: that is
/// permute_axes(Layout::bricks(comm, {m, n}, {p, q}), {1, 0}), of shape [n, m].
///
/// Moving A into it saves a copy.
template <Scalar T>
LinearOperator<T> matrix_mult(DistributedArray<T> matrix, const MatrixMultOptions& options = {});

struct MatrixMultAlongOptions {
  int axis = 0;
};

/// The same along any axis of the model, which must not be cut, by a matrix that every rank has (on
/// a local or a replicated layout). No messages. Of all axes, the first is the fastest.
template <Scalar T>
LinearOperator<T> matrix_mult(DistributedArray<T> matrix, const Layout& model,
                              const MatrixMultAlongOptions& options = {});

struct SummaOptions {
  index_t columns = 1;
};

/// Model [m, columns] to data [n, columns], both cut along both axes on the ranks of A, which is
/// cut in this way, too: no rank has more than its part of anything. For models too large for
/// matrix_mult, since A travels here: panels of A are broadcast along rows of ranks, and panels of
/// the model are broadcast (forward) or summed up (adjoint) along columns of ranks. On p x q ranks
/// there are at most p + q - 1 of either. The model is cut into equal parts, the data as A is, so
/// that operators can follow one another if rows of A are cut into equal parts.
template <Scalar T>
LinearOperator<T> summa(DistributedArray<T> matrix, const SummaOptions& options = {});

}  // namespace weft
