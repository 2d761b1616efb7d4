#pragma once

#include <weft/core/shape.hpp>

// Kernels of LSQR: on vectors, and, with a single thread, on the scalars of its recurrences, which
// stay in device memory (see solve/scalars.hpp). All numbers are real: these kernels treat a
// complex number as two real ones.

namespace weft::kernels {

/// The scalars of LSQR, with the names of Paige and Saunders. The vectors are not normalised: |u|
/// is beta and |v| is alpha, and kernels that read them divide.
struct LsqrNumbers {
  // Sums over all ranks. Sums that are reduced together are adjacent.
  double uu;
  double tt;  // of the rows of u for explicit damping
  double xx;
  double ww;
  double vv;

  double runs;  // 0 after a breakdown: vectors then stay unchanged until the next check
  double alpha;
  double beta;
  double cosine;  // of the rotation that eliminated the last beta
  double sine;
  double rho;
  double rho_bar;
  double phi_bar;
  double step;         // phi / rho
  double back;         // theta / rho
  double a_squares;    // estimate of |A|², including damping
  double d_squares;    // estimate of the squared norm of the pseudo-inverse
  double psi_squares;  // contribution of implicit damping to the squared residual norm
  double gradient_norm;
  double x_norm;
};

/// Either half of the bidiagonalisation: u = factor q / other - (other / own) u, and the sum of u².
/// `own` is the norm of u, and `other` that of the vector to which A or Aᴴ was applied to get q. If
/// `own` is 0, the second term is 0.
template <class Device, class R>
void lsqr_extend(Device device, index_t n, const double* runs, const double* other,
                 const double* own, double factor, const R* q, R* u, double* out);
/// w = v / alpha - back w, x += step w, and the sums of x² and w², in adjacent slots.
template <class Device, class R>
void lsqr_step(Device device, index_t n, const LsqrNumbers* numbers, const R* v, R* w, R* x,
               double* out);
/// variance += |w / rho|², for n elements of `parts` real numbers each.
template <class Device, class R>
void lsqr_add_variance(Device device, index_t n, int parts, const LsqrNumbers* numbers, const R* w,
                       R* variance);

/// Initialises the scalars from the first u: beta, phi_bar. All but the sums must be 0 before.
template <class Device>
void lsqr_begin(Device device, LsqrNumbers* numbers);
/// After u: beta, the rotations that eliminate `damp` and beta, and phi.
template <class Device>
void lsqr_rotate(Device device, double damp, LsqrNumbers* numbers);
/// After v: alpha, theta, rho_bar and the norms.
template <class Device>
void lsqr_advance(Device device, LsqrNumbers* numbers);

}  // namespace weft::kernels
