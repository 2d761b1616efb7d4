#pragma once

// The kernels of proximal gradients, called with arrays. Sums are parts of this rank, to be
// finished by Scalars::finish().

#include <weft/kernel/complex.hpp>

#include "solve/momentum_kernels.hpp"
#include "solve/threshold_kernels.hpp"
#include "solve/vector_steps.hpp"

#include <optional>

namespace weft::detail {

/// u = T(u), where T is the threshold for this weight, and the penalty on it
template <Scalar T>
void shrink(const SumInto& into, Threshold threshold, double weight, DistributedArray<T>& u) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::shrink(device, n, threshold, weight, kernel_cast(u.data()) + first, out);
  });
}

/// g = T(z + step g), and the penalty on it
template <Scalar T>
void step_and_shrink(const SumInto& into, Threshold threshold, double weight,
                     const ConstArrayView<T>& z, double step, DistributedArray<T>& g) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::step_and_shrink(device, n, threshold, weight, kernel_cast(z.data()) + first, step,
                             kernel_cast(g.data()) + first, out);
  });
}

/// |x - y|² and |x|²
template <Scalar T>
void sum_distance_and_size(const SumInto& into, const ConstArrayView<T>& x,
                           const ConstArrayView<T>& y) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::distance_and_size(device, reals_in<T> * n, reals(x, first), reals(y, first), out);
  });
}

/// |x - y|²
template <Scalar T>
void sum_distance(const SumInto& into, const ConstArrayView<T>& x, const ConstArrayView<T>& y) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::distance(device, reals_in<T> * n, reals(x, first), reals(y, first), out);
  });
}

/// |next - z|² and Re<z - next, next - x>
template <Scalar T>
void sum_distance_and_turn(const SumInto& into, const ConstArrayView<T>& next,
                           const ConstArrayView<T>& z, const ConstArrayView<T>& x) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::distance_and_turn(device, reals_in<T> * n, reals(next, first), reals(z, first),
                               reals(x, first), out);
  });
}

/// q = y - q, and |q|²
template <Scalar T>
void new_residual(const SumInto& into, const ConstArrayView<T>& y, DistributedArray<T>& q) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::new_residual(device, reals_in<T> * n, reals(y, first), reals(q, first), out);
  });
}

/// x = next; and if there is a z, z = next + momentum (next - x) with the old x before.
template <Scalar T>
void advance(const double* momentum, const ConstArrayView<T>& next, DistributedArray<T>& x,
             std::optional<DistributedArray<T>>& z) {
  dispatch(x.device(), [&](auto device) {
    const index_t n = reals_in<T> * x.local_count();
    if (z) {
      kernels::advance_beyond(device, n, momentum, reals(next), reals(x), reals(*z));
    } else {
      kernels::advance(device, n, momentum, reals(next), reals(x));
    }
  });
}

}  // namespace weft::detail
