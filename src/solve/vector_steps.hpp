#pragma once

// The kernels of solvers for arrays. Each comment is the formula. Sums are this rank's parts, to be
// completed by Scalars::finish(); see solve/scalars.hpp.

#include <weft/array/distributed_array.hpp>
#include <weft/kernel/dispatch.hpp>

#include "solve/scalars.hpp"
#include "solve/solver_kernels.hpp"

namespace weft::detail {

using kernels::Quotient;

/// Real numbers per element.
template <Scalar T>
inline constexpr index_t reals_in = is_complex<T> ? 2 : 1;

template <Scalar T>
Real<T>* reals(DistributedArray<T>& x, index_t first = 0) {
  return reinterpret_cast<Real<T>*>(x.data()) + reals_in<T> * first;
}
template <Scalar T>
const Real<T>* reals(const ConstArrayView<T>& x, index_t first = 0) {
  return reinterpret_cast<const Real<T>*>(x.data()) + reals_in<T> * first;
}

/// The slot that receives a sum, and the space of the arrays that are summed.
struct SumInto {
  Scalars& scalars;
  const SumSpace& space;
  int slot;

  /// kernel(device, first, count, out)
  template <class Kernel>
  void operator()(Kernel kernel) const {
    dispatch(scalars.device(), [&](auto device) {
      scalars.sum(space, slot, [&](index_t first, index_t count, double* out) {
        kernel(device, first, count, out);
      });
    });
  }
};

/// Re<x, y>
template <Scalar T>
void sum_product(const SumInto& into, const ConstArrayView<T>& x, const ConstArrayView<T>& y) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::real_dot(device, reals_in<T> * n, reals(x, first), reals(y, first), out);
  });
}

/// Re<x, z>, Re<y, z>
template <Scalar T>
void sum_products(const SumInto& into, const ConstArrayView<T>& x, const ConstArrayView<T>& y,
                  const ConstArrayView<T>& z) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::real_dots(device, reals_in<T> * n, reals(x, first), reals(y, first), reals(z, first),
                       out);
  });
}

/// r -= alpha q, |r|²
template <Scalar T>
void step_residual(const SumInto& into, Quotient alpha, const ConstArrayView<T>& q,
                   DistributedArray<T>& r) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::step_residual(device, reals_in<T> * n, alpha, reals(q, first), reals(r, first), out);
  });
}

/// s -= weight (x + alpha p), |s|²
template <Scalar T>
void damp_gradient(const SumInto& into, double weight, Quotient alpha, const ConstArrayView<T>& x,
                   const ConstArrayView<T>& p, DistributedArray<T>& s) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::damp_gradient(device, reals_in<T> * n, weight, alpha, reals(x, first), reals(p, first),
                           reals(s, first), out);
  });
}

/// x += alpha p, p = s + beta p
template <Scalar T>
void step_solution(Quotient alpha, Quotient beta, const ConstArrayView<T>& s,
                   DistributedArray<T>& x, DistributedArray<T>& p) {
  dispatch(x.device(), [&](auto device) {
    kernels::step_solution(device, reals_in<T> * x.local_count(), alpha, beta, reals(s), reals(x),
                           reals(p));
  });
}

/// x += alpha p, p = s + beta p, |p|²
template <Scalar T>
void step_solution_and_sum(const SumInto& into, Quotient alpha, Quotient beta,
                           const ConstArrayView<T>& s, DistributedArray<T>& x,
                           DistributedArray<T>& p) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::step_solution_and_sum(device, reals_in<T> * n, alpha, beta, reals(s, first),
                                   reals(x, first), reals(p, first), out);
  });
}

/// p = u + beta p, q = w + beta q, x += alpha p, r -= alpha q, |r|². u may be r.
template <Scalar T>
void step_all(const SumInto& into, Quotient alpha, Quotient beta, const ConstArrayView<T>& u,
              const ConstArrayView<T>& w, DistributedArray<T>& p, DistributedArray<T>& q,
              DistributedArray<T>& x, DistributedArray<T>& r) {
  into([&](auto device, index_t first, index_t n, double* out) {
    kernels::step_all(device, reals_in<T> * n, alpha, beta, reals(u, first), reals(w, first),
                      reals(p, first), reals(q, first), reals(x, first), reals(r, first), out);
  });
}

}  // namespace weft::detail
