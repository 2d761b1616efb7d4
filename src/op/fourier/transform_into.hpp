#pragma once

// Updates y = alpha A x + beta y for libraries that only compute A x.

#include <weft/array/arithmetic.hpp>
#include <weft/op/operator_node.hpp>

namespace weft::detail {

/// out = alpha f + beta out, where transform(to) writes f to an array.
template <Scalar T, class F>
void transform_into(const ArrayView<T>& out, DistributedArray<T>& spare, Update<T> update,
                    F transform) {
  if (update.beta == T{}) {
    transform(out);
    if (!update.is_plain()) scale(update.alpha, out);
  } else {
    transform(spare);
    axpby(update.alpha, spare, update.beta, out);
  }
}

}  // namespace weft::detail
