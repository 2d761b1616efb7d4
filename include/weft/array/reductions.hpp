#pragma once

// Sums, products and norms over all ranks. Each element counts once, however many ranks have it.
// All ranks get the same result, bit by bit; within groups, all ranks of a group, and no other
// ranks take part. One allreduce each, and none on replicated layouts. Norms do not overflow or
// underflow in intermediate powers; where those do, scaling takes two more allreduces.

#include <weft/array/distributed_array.hpp>

#include <cstdint>

namespace weft {

enum class Conjugate : std::uint8_t { first, none };

/// The inner product: the sum of conj(x) y, or of x y with Conjugate::none.
template <Scalar T>
Accumulator<T> dot(const ConstArrayView<T>& x, const ConstArrayView<T>& y,
                   Conjugate conjugate = Conjugate::first);
/// y += a x, and at the same time dot(z, y) of the new y; z may be y.
template <Scalar T>
Accumulator<T> axpy_dot(Coefficient<T> a, const ConstArrayView<T>& x, const detail::Output<T>& y,
                        const ConstArrayView<T>& z);

template <Scalar T>
Accumulator<T> sum(const ConstArrayView<T>& x);
/// The smallest and the largest element; NaN if there is one. The array must not be empty.
template <Scalar T>
  requires(!is_complex<T>)
T min(const ConstArrayView<T>& x);
template <Scalar T>
  requires(!is_complex<T>)
T max(const ConstArrayView<T>& x);

/// Vector norm of all elements: order 2, 1, infinity (largest), -infinity (smallest), 0 (number of
/// non-zeros) or any other p: (sum |x|^p)^(1/p).
template <Scalar T>
double norm(const ConstArrayView<T>& x, double order = 2);
/// The same norm of each line along an axis, as an array without that axis. The ranks (of a group)
/// compare what they pass, in one small message; where the axis is cut, one allreduce among the
/// ranks of a line. On a device, orders other than 0, 1 and infinity wait for it to tell whether
/// powers of double have left the range of numbers.
template <Scalar T>
DistributedArray<Real<T>> norm_along(const ConstArrayView<T>& x, int axis, double order = 2);

/// Throws the same AgreedError on all ranks unless the copies of a replicated array are the same,
/// bit by bit. Collective; other layouts pass. Reductions do this by themselves with WEFT_CHECK=1.
template <Scalar T>
void verify_replicas(const ConstArrayView<T>& x);

}  // namespace weft
