#pragma once

#include <weft/core/shape.hpp>

// Vector kernels of solvers, which read their coefficients from device memory and leave sums there;
// see solve/scalars.hpp. Coefficients and sums are real and in double precision: these kernels
// treat a complex number as two real ones.

namespace weft::kernels {

/// numerator / (denominator + weight extra), or 0 unless both are positive. If alpha is 0, the
/// kernels below leave their vectors unchanged, even if q or p is not finite.
struct Quotient {
  const double* numerator;
  const double* denominator;
  const double* extra = nullptr;
  double weight = 0;
};

/// The sum of x y.
template <class Device, class R>
void real_dot(Device device, index_t n, const R* x, const R* y, double* out);
/// The sums of x z and of y z, in adjacent slots.
template <class Device, class R>
void real_dots(Device device, index_t n, const R* x, const R* y, const R* z, double* out);

/// r -= alpha q, and the sum of r².
template <class Device, class R>
void step_residual(Device device, index_t n, Quotient alpha, const R* q, R* r, double* out);
/// s -= weight (x + alpha p), and the sum of s².
template <class Device, class R>
void damp_gradient(Device device, index_t n, double weight, Quotient alpha, const R* x, const R* p,
                   R* s, double* out);
/// x += alpha p, p = s + beta p.
template <class Device, class R>
void step_solution(Device device, index_t n, Quotient alpha, Quotient beta, const R* s, R* x, R* p);
/// x += alpha p, p = s + beta p, and the sum of p².
template <class Device, class R>
void step_solution_and_sum(Device device, index_t n, Quotient alpha, Quotient beta, const R* s,
                           R* x, R* p, double* out);
/// p = u + beta p, q = w + beta q, x += alpha p, r -= alpha q, and the sum of r². u may be r.
template <class Device, class R>
void step_all(Device device, index_t n, Quotient alpha, Quotient beta, const R* u, const R* w, R* p,
              R* q, R* x, R* r, double* out);

/// Re<p, A p> for p = u + beta p, from Re<u, A u> and from the value for the last p:
/// out = ua - beta² last. If the last value is not positive, it is kept, and the iteration stays
/// stopped.
template <class Device>
void next_curvature(Device device, Quotient beta, const double* ua, const double* last,
                    double* out);
/// sums[i] = sum over rows of first[row * stride + i].
template <class Device>
void add_rows(Device device, index_t n, index_t rows, index_t stride, const double* first,
              double* sums);

}  // namespace weft::kernels
