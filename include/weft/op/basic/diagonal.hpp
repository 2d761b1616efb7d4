#pragma once

#include <weft/op/linear_operator.hpp>

#include <span>

namespace weft {

struct DiagonalOptions {
  int axis = -1;
};

/// x -> d x, element by element.
template <Scalar T>
LinearOperator<T> diagonal(const ConstArrayView<T>& d);
/// The same with one number for each position along an axis, which all ranks pass.
template <Scalar T>
LinearOperator<T> diagonal(const Layout& layout, std::type_identity_t<std::span<const T>> d,
                           const DiagonalOptions& options = {});

}  // namespace weft
