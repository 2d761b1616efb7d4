#pragma once

#include <weft/op/linear_operator.hpp>

#include <span>

namespace weft {

struct RestrictionOptions {
  int axis = -1;
};

/// Takes the elements at some positions along an axis: y[i] = x[indices[i]]. All ranks pass the
/// same indices, which may repeat; the adjoint adds up what comes back to the same element.
///
/// No messages: where the axis is cut, each rank keeps the indices that fall into its part, so that
/// they must be in ascending order there.
template <Scalar T>
LinearOperator<T> restriction(const Layout& layout, std::span<const index_t> indices,
                              const RestrictionOptions& options = {});
template <Scalar T>
LinearOperator<T> restriction(const Layout& layout, std::initializer_list<index_t> indices,
                              const RestrictionOptions& options = {}) {
  return restriction<T>(layout, std::span(indices.begin(), indices.size()), options);
}

}  // namespace weft
