#pragma once

#include <weft/core/shape.hpp>

// What an iteration of LSQR does to vectors and to the numbers of its recurrences, which lie in
// memory of the device: a kernel of one thread carries them on, so that nobody waits for the host.
// All numbers are real: to these kernels, a complex number is two real ones.

namespace weft::kernels {

/// In the names of Paige and Saunders. Vectors are kept as they come, u with norm beta and v with
/// norm alpha; who reads them divides.
struct LsqrNumbers {
  // Sums, finished over the ranks; those that are finished together lie side by side.
  double uu;
  double tt;  // of the part of u that belongs to explicit damping
  double xx;
  double ww;
  double vv;

  double runs;  // 0 when the vectors have to stay as they are, until the host looks and says why
  double alpha;
  double beta;
  double cosine;  // the rotation that made the last beta vanish
  double sine;
  double rho;
  double rho_bar;
  double phi_bar;
  double step;         // phi / rho: how far x goes along w
  double back;         // theta / rho: how much of the last w is in the next
  double a_squares;    // the estimate of |A|², damping included
  double d_squares;    // and that of its inverse
  double psi_squares;  // what implicit damping adds to the square of the residual
  double gradient_norm;
  double x_norm;
};

/// The two halves of the bidiagonalisation: u or v, of norm `own`, is replaced by
/// factor q / other - (other / own) u, where q comes from the other one, of norm `other`. Gives the
/// sum of u². An own norm of 0 stands for no vector.
template <class Device, class R>
void lsqr_extend(Device device, index_t n, const double* runs, const double* other,
                 const double* own, double factor, const R* q, R* u, double* out);
/// w = v / alpha - back w; x += step w; and the sums of x² and w², one after the other.
template <class Device, class R>
void lsqr_step(Device device, index_t n, const LsqrNumbers* numbers, const R* v, R* w, R* x,
               double* out);
/// variance += |w / rho|² for n elements of `parts` real numbers each.
template <class Device, class R>
void lsqr_add_variance(Device device, index_t n, int parts, const LsqrNumbers* numbers, const R* w,
                       R* variance);

/// Of the first u: what there is before the first v. All numbers but the sums are 0 before.
template <class Device>
void lsqr_begin(Device device, LsqrNumbers* numbers);
/// When u is known: the new beta, and the rotations by which it and `damp` vanish.
template <class Device>
void lsqr_rotate(Device device, double damp, LsqrNumbers* numbers);
/// When v is known: the new alpha, and what follows from it.
template <class Device>
void lsqr_advance(Device device, LsqrNumbers* numbers);

}  // namespace weft::kernels
