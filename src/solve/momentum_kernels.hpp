#pragma once

#include <weft/core/shape.hpp>

// Kernels of the proximal gradient method for the iterate x and its momentum. They treat a complex
// number as two real ones, and add in double precision.

namespace weft::kernels {

/// The sums of (x - y)² and of x², in adjacent slots.
template <class Device, class R>
void distance_and_size(Device device, index_t n, const R* x, const R* y, double* out);
/// The sum of (x - y)².
template <class Device, class R>
void distance(Device device, index_t n, const R* x, const R* y, double* out);
/// The sums of (next - z)² and of (z - next) (next - x), in adjacent slots. The momentum points
/// uphill if the second is positive.
template <class Device, class R>
void distance_and_restart_test(Device device, index_t n, const R* next, const R* z, const R* x,
                               double* out);
/// q = y - q, and the sum of q².
template <class Device, class R>
void new_residual(Device device, index_t n, const R* y, R* q, double* out);

struct MomentumNumbers {
  const double* sums;
  int count;
  const double* restart_test;  // null if the momentum is never reset
  double* theta;               // null without momentum
  double* momentum;
};
/// momentum = (theta - 1) / theta', theta = theta' = (1 + sqrt(1 + 4 theta²)) / 2, or after a
/// restart 0 and 1. Without theta, momentum = 0. If one of `count` sums is not finite, momentum =
/// -1, which marks the next x as unusable.
template <class Device>
void next_momentum(Device device, MomentumNumbers numbers);

/// x = next, unless momentum < 0.
template <class Device, class R>
void advance(Device device, index_t n, const double* momentum, const R* next, R* x);
/// z = next + momentum (next - x), x = next, unless momentum < 0.
template <class Device, class R>
void advance_with_momentum(Device device, index_t n, const double* momentum, const R* next, R* x,
                           R* z);

}  // namespace weft::kernels
