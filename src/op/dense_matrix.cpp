#include <weft/op/dense_matrix.hpp>

#include <weft/core/error.hpp>

#include "array/strides.hpp"

namespace weft {
namespace {

/// f(array) for all arrays of a stack, or for x if it is not a stack.
template <class View, class F>
void for_each_array(const View& x, F f) {
  if (!x.layout().is_stack()) return f(x);
  for (int index = 0; index < x.layout().part_count(); ++index) for_each_array(x.part(index), f);
}

/// Sets x to the unit vector with 1 at a position.
template <Scalar T>
void set_unit(const ArrayView<T>& x, index_t position) {
  for_each_array(x, [&](const ArrayView<T>& array) {
    std::vector<T> values(static_cast<std::size_t>(array.local_count()));
    const Shape& shape = array.shape();
    if (position >= 0 && position < shape.count()) {
      Index at = shape;
      index_t rest = position;
      for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
        at[axis] = rest % shape[axis];
        rest /= shape[axis];
      }
      const Box& box = array.layout().box();
      if (box.contains(at)) values[static_cast<std::size_t>(detail::offset_in(box, at))] = T{1};
    }
    array.from_host(values);
    position -= shape.count();
  });
}

}  // namespace

template <Scalar D, Scalar R>
DenseMatrix<R> todense(const LinearOperator<D, R>& a) {
  require(!is_complex<D> || a.is_complex_linear(),
          "todense: {} is only real-linear and has no complex matrix", a.name());
  DenseMatrix<R> matrix(a.range().count(), a.domain().count());
  DistributedArray<D> x(a.domain());
  DistributedArray<R> y(a.range());
  const ArrayView<D> unit = x;
  for (index_t column = 0; column < matrix.columns; ++column) {
    set_unit(unit, column);
    a.forward(x, y);
    index_t row = 0;
    for_each_array<ConstArrayView<R>>(y, [&](const ConstArrayView<R>& array) {
      for (const R value : array.all_gather()) matrix(row++, column) = value;
    });
  }
  return matrix;
}

#define INSTANTIATE(D, R) template DenseMatrix<R> todense(const LinearOperator<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
