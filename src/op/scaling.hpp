#pragma once

#include <weft/array/arithmetic.hpp>
#include <weft/op/operator_node.hpp>

namespace weft::detail {

/// conj(number) in the same type; std::conj returns complex numbers for real arguments.
template <Scalar T>
T conj_of(T number) {
  if constexpr (is_complex<T>) return std::conj(number);
  return number;
}

/// y = beta y; with beta = 0, y is not read.
template <Scalar T>
void scale_or_clear(T beta, const Output<T>& y) {
  if (beta == T{}) {
    y.fill(T{});
  } else if (beta != T{1}) {
    scale(beta, y);
  }
}

/// y = alpha x + beta y.
template <Scalar T>
void apply_update(const ConstArrayView<T>& x, const Output<T>& y, Update<T> update) {
  if (update.is_plain()) {
    copy(x, y);
  } else {
    axpby(update.alpha, x, update.beta, y);
  }
}

}  // namespace weft::detail
