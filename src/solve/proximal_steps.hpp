#pragma once

// The kernels of the proximal gradient method for arrays. Each comment is the formula. Sums are
// this rank's parts, to be completed by Scalars::finish(); see solve/scalars.hpp.

#include <weft/kernel/complex.hpp>

#include "solve/momentum_kernels.hpp"
#include "solve/threshold_kernels.hpp"
#include "solve/vector_steps.hpp"

#include <optional>

namespace weft::detail {

/// u = T(u), P(u), where T is the proximal operator of weight P
template <Scalar T>
void shrink(const SumInto& into, Threshold threshold, double weight, DistributedArray<T>& u) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::shrink(device, n, threshold, weight, kernel_cast(u.data()) + first, out);
  });
}

/// g = T(z + step g), P(g)
template <Scalar T>
void step_and_shrink(const SumInto& into, Threshold threshold, double weight,
                     const ConstArrayView<T>& z, double step, DistributedArray<T>& g) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::step_and_shrink(device, n, threshold, weight, kernel_cast(z.data()) + first, step,
                             kernel_cast(g.data()) + first, out);
  });
}

/// |x - y|², |x|²
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

/// |next - z|², Re<z - next, next - x>
template <Scalar T>
void sum_distance_and_restart_test(const SumInto& into, const ConstArrayView<T>& next,
                                   const ConstArrayView<T>& z, const ConstArrayView<T>& x) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::distance_and_restart_test(device, reals_in<T> * n, reals(next, first), reals(z, first),
                                       reals(x, first), out);
  });
}

/// q = y - q, |q|²
template <Scalar T>
void new_residual(const SumInto& into, const ConstArrayView<T>& y, DistributedArray<T>& q) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::new_residual(device, reals_in<T> * n, reals(y, first), reals(q, first), out);
  });
}

/// z = next + momentum (next - x) if there is a z, x = next. Neither if momentum < 0.
template <Scalar T>
void advance(const double* momentum, const ConstArrayView<T>& next, DistributedArray<T>& x,
             std::optional<DistributedArray<T>>& z) {
  dispatch(x.device(), [&](auto device) {
    const index_t n = reals_in<T> * x.local_count();
    if (z) {
      kernels::advance_with_momentum(device, n, momentum, reals(next), reals(x), reals(*z));
    } else {
      kernels::advance(device, n, momentum, reals(next), reals(x));
    }
  });
}

}  // namespace weft::detail
