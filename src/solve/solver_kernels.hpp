#pragma once

#include <weft/core/shape.hpp>

// What the iterations of solvers do to vectors. Coefficients are quotients of numbers that lie in
// memory of the device, so that no kernel has to wait for the host to tell it one. Sums go there,
// too, and are kept in double. Coefficients and sums are real: to these kernels, a complex number
// is two real ones.

namespace weft::kernels {

/// numerator / (denominator + weight extra), or 0 unless both are positive. That 0 stops an
/// iteration where it is: the kernels below leave their vectors as they are, whatever they would be
/// changed by, until the host looks and says why.
struct Quotient {
  const double* numerator;
  const double* denominator;
  const double* extra = nullptr;
  double weight = 0;
};

/// Sum of x y.
template <class Device, class R>
void real_dot(Device device, index_t n, const R* x, const R* y, double* out);
/// The sums of x z and of y z, one after the other.
template <class Device, class R>
void real_dots(Device device, index_t n, const R* x, const R* y, const R* z, double* out);

/// r -= alpha q, and the sum of r².
template <class Device, class R>
void step_residual(Device device, index_t n, Quotient alpha, const R* q, R* r, double* out);
/// s -= weight (x + alpha p), and the sum of s².
template <class Device, class R>
void damp_gradient(Device device, index_t n, double weight, Quotient alpha, const R* x, const R* p,
                   R* s, double* out);
/// x += alpha p; p = s + beta p.
template <class Device, class R>
void step_solution(Device device, index_t n, Quotient alpha, Quotient beta, const R* s, R* x, R* p);
/// The same, and the sum of p².
template <class Device, class R>
void step_solution_and_sum(Device device, index_t n, Quotient alpha, Quotient beta, const R* s,
                           R* x, R* p, double* out);
/// p = u + beta p; q = w + beta q; x += alpha p; r -= alpha q; and the sum of r². u may be r.
template <class Device, class R>
void step_all(Device device, index_t n, Quotient alpha, Quotient beta, const R* u, const R* w, R* p,
              R* q, R* x, R* r, double* out);

/// Re<p, A p> of p = u + beta p, from that of the last p and from Re<u, A u>:
/// out = ua - beta² last. Where the last one has stopped the iteration it stays as it is.
template <class Device>
void next_curvature(Device device, Quotient beta, const double* ua, const double* last,
                    double* out);
/// sums[i] = the sum over rows of first[row * stride + i].
template <class Device>
void add_rows(Device device, index_t n, index_t rows, index_t stride, const double* first,
              double* sums);

}  // namespace weft::kernels
