#pragma once

// The same elements under another layout: in row-major order of the global array (reshape), or in
// the order of each rank's memory (relabel).

#include <weft/array/distributed_array.hpp>

namespace weft {

/// The elements of x in row-major order in any layout with as many elements, which is not a stack.
/// Where every rank already has its elements in order, the result is a view of x: no copy and no
/// message. Otherwise it is a new array, which the view keeps alive: one all_to_all, or none if no
/// rank needs elements of another.
template <Scalar T>
ConstArrayView<T> reshape(const ConstArrayView<T>& x, const Layout& to);
template <Scalar T>
ConstArrayView<T> reshape(DistributedArray<T>&& x, const Layout& to) {
  return reshape(ConstArrayView<T>(std::move(x)), to);
}
template <Scalar T>
void reshape(const DistributedArray<T>&& x, const Layout& to) = delete;

/// Whether reshape() between these layouts returns a view. The same on all ranks.
bool reshapes_in_place(const Layout& from, const Layout& to);
/// Write access to x under another layout. Throws unless reshapes_in_place(x.layout(), to).
template <Scalar T>
ArrayView<T> reshape_in_place(const ArrayView<T>& x, const Layout& to);
template <Scalar T>
ArrayView<T> reshape_in_place(DistributedArray<T>& x, const Layout& to) {
  return reshape_in_place(ArrayView<T>(x), to);
}

/// A view of the memory of x under a layout that gives every rank as many elements: each rank's
/// part, taken in row-major order, becomes its part of the result. Layouts may be stacks, whose
/// parts lie one after the other in memory. Never sends a message. Copies of an array that becomes
/// replicated must be equal.
template <Scalar T>
ConstArrayView<T> relabel(const ConstArrayView<T>& x, const Layout& to);
template <Scalar T>
ArrayView<T> relabel(const ArrayView<T>& x, const Layout& to);
template <Scalar T>
ArrayView<T> relabel(DistributedArray<T>& x, const Layout& to) {
  return relabel(ArrayView<T>(x), to);
}
template <Scalar T>
ConstArrayView<T> relabel(DistributedArray<T>&& x, const Layout& to) {
  return relabel(ConstArrayView<T>(std::move(x)), to);
}
template <Scalar T>
void relabel(const DistributedArray<T>&& x, const Layout& to) = delete;

}  // namespace weft
