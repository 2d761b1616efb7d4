#pragma once

#include <weft/core/shape.hpp>

// What the iterations of proximal gradients do once a new x is there. A complex number is two real
// ones here, sums are kept in double, and numbers that steer an iteration stay on the device.

namespace weft::kernels {

/// The sums of (x - y)² and of x², one after the other.
template <class Device, class R>
void distance_and_size(Device device, index_t n, const R* x, const R* y, double* out);
/// The sum of (x - y)².
template <class Device, class R>
void distance(Device device, index_t n, const R* x, const R* y, double* out);
/// The sums of (next - z)² and of (z - next) (next - x), one after the other.
template <class Device, class R>
void distance_and_turn(Device device, index_t n, const R* next, const R* z, const R* x,
                       double* out);
/// q = y - q, and the sum of q².
template <class Device, class R>
void new_residual(Device device, index_t n, const R* y, R* q, double* out);

/// How far to go beyond the next x; negative if it cannot be used, because one of `count` sums is
/// not finite. Without momentum 0.
struct MomentumNumbers {
  const double* sums;
  int count;
  const double* turn;  // null if momentum is never given up
  double* theta;       // null without momentum
  double* momentum;
};
template <class Device>
void next_momentum(Device device, MomentumNumbers numbers);

/// x = next, if it can be used.
template <class Device, class R>
void advance(Device device, index_t n, const double* momentum, const R* next, R* x);
/// z = next + momentum (next - x); x = next; if it can be used.
template <class Device, class R>
void advance_beyond(Device device, index_t n, const double* momentum, const R* next, R* x, R* z);

}  // namespace weft::kernels
