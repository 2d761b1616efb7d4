#pragma once

#include <weft/op/linear_operator.hpp>

#include <span>

namespace weft {

struct DiagonalOptions {
  /// The axis that d belongs to.
  int axis = -1;
};

/// y = d x, elementwise. No communication. PyLops: Diagonal.
template <Scalar T>
LinearOperator<T> diagonal(const ConstArrayView<T>& d);
/// y[.., i, ..] = d[i] x[.., i, ..] along an axis. All ranks pass the same d, one number per
/// position along the axis. No communication.
template <Scalar T>
LinearOperator<T> diagonal(const Layout& layout, std::type_identity_t<std::span<const T>> d,
                           const DiagonalOptions& options = {});

}  // namespace weft
