#pragma once

#include <weft/array/arithmetic.hpp>
#include <weft/op/operator_node.hpp>

namespace weft::detail {

/// conj(number), of the same type; std::conj makes complex numbers of real ones.
template <Scalar T>
T conj_of(T number) {
  if constexpr (is_complex<T>) return std::conj(number);
  return number;
}

/// y = beta y, where beta = 0 clears y without reading it: what an operator does that adds nothing.
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
void put(const ConstArrayView<T>& x, const Output<T>& y, Update<T> update) {
  if (update.is_plain()) {
    copy(x, y);
  } else {
    axpby(update.alpha, x, update.beta, y);
  }
}

}  // namespace weft::detail
