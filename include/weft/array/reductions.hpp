#pragma once

// Sums, products and norms over all ranks. Each element counts once, however many ranks have it.
// All ranks get the same result, bit by bit. Within groups, each group computes its own result and
// communicates with no other ranks. One allreduce each, and none on replicated layouts. Norms do
// not overflow or underflow in intermediate powers: if necessary, elements are scaled, which takes
// two more allreduces.

#include <weft/array/distributed_array.hpp>

#include <cstdint>

namespace weft {

enum class Conjugate : std::uint8_t { first, none };

/// The inner product: the sum of conj(x) y, or of x y with Conjugate::none.
template <Scalar T>
Accumulator<T> dot(const ConstArrayView<T>& x, const ConstArrayView<T>& y,
                   Conjugate conjugate = Conjugate::first);
/// y += a x; returns dot(z, y) of the new y. z may be y.
template <Scalar T>
Accumulator<T> axpy_dot(Coefficient<T> a, const ConstArrayView<T>& x, const detail::Output<T>& y,
                        const ConstArrayView<T>& z);

template <Scalar T>
Accumulator<T> sum(const ConstArrayView<T>& x);
/// The smallest and the largest element; NaN if any element is. The array must not be empty.
template <Scalar T>
  requires(!is_complex<T>)
T min(const ConstArrayView<T>& x);
template <Scalar T>
  requires(!is_complex<T>)
T max(const ConstArrayView<T>& x);

/// The vector norm of all elements, (sum |x|^p)^(1/p). Order infinity is the largest magnitude,
/// -infinity the smallest, and 0 the number of non-zeros.
template <Scalar T>
double norm(const ConstArrayView<T>& x, double order = 2);
/// The norm of each line along an axis, as an array without that axis. The ranks (of a group)
/// compare their arguments in one small message; if the axis is cut, one allreduce among the ranks
/// of a line follows. On a device, orders other than 0, 1 and infinity block the host until it is
/// known whether powers have overflowed.
template <Scalar T>
DistributedArray<Real<T>> norm_along(const ConstArrayView<T>& x, int axis, double order = 2);

/// Throws the same AgreedError on all ranks unless the copies of a replicated array are equal, bit
/// by bit. Collective; other layouts pass. With WEFT_CHECK=1, reductions call this.
template <Scalar T>
void verify_replicas(const ConstArrayView<T>& x);

}  // namespace weft
