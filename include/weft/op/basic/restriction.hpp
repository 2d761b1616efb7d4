#pragma once

#include <weft/op/linear_operator.hpp>

#include <span>

namespace weft {

struct RestrictionOptions {
  /// The axis that indices belong to.
  int axis = -1;
};

/// y[i] = x[indices[i]] along an axis. All ranks pass the same indices, which may repeat; the
/// adjoint sums over repeated indices. PyLops: Restriction.
///
/// No communication: y[i] stays on the rank of x[indices[i]]. Along a distributed axis, indices
/// must therefore be in ascending order.
template <Scalar T>
LinearOperator<T> restriction(const Layout& layout, std::span<const index_t> indices,
                              const RestrictionOptions& options = {});
template <Scalar T>
LinearOperator<T> restriction(const Layout& layout, std::initializer_list<index_t> indices,
                              const RestrictionOptions& options = {}) {
  return restriction<T>(layout, std::span(indices.begin(), indices.size()), options);
}

}  // namespace weft
