#include "solve/momentum_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "kernel/kernel_math.hpp"

namespace weft::kernels {
namespace {

/// Two sums in one pass: a pair of doubles with an addition.
using Two = Complex<double>;

template <class R>
WEFT_FUNCTION double wide(R x) {
  return static_cast<double>(x);
}
template <class R>
WEFT_FUNCTION double wide_square(R x) {
  return wide(x) * wide(x);
}

/// A scalar in device memory. On a GPU each thread reads it; on a CPU it is read before the loop,
/// so that the loop vectorises.
template <class R>
struct DeviceScalar {
#if defined(__CUDACC__)
  const double* at;

  explicit DeviceScalar(const double* number) : at(number) {}
  __device__ R operator()() const { return static_cast<R>(__ldg(at)); }
#else
  R value;

  explicit DeviceScalar(const double* number) : value(static_cast<R>(*number)) {}
  R operator()() const { return value; }
#endif
};

}  // namespace

template <class Device, class R>
void distance_and_size(Device device, index_t n, const R* x, const R* y, double* out) {
  reduce_into(
      device, n, Two{},
      [=] WEFT_KERNEL(R x_i, R y_i) {
        return Two{wide_square(x_i - y_i), wide_square(x_i)};
      },
      Add{}, reinterpret_cast<Two*>(out), x, y);
}

template <class Device, class R>
void distance(Device device, index_t n, const R* x, const R* y, double* out) {
  reduce_into(
      device, n, 0.0, [=] WEFT_KERNEL(R x_i, R y_i) { return wide_square(x_i - y_i); }, Add{}, out,
      x, y);
}

template <class Device, class R>
void distance_and_restart_test(Device device, index_t n, const R* next, const R* z, const R* x,
                               double* out) {
  reduce_into(
      device, n, Two{},
      [=] WEFT_KERNEL(R next_i, R z_i, R x_i) {
        const double back = wide(z_i - next_i);
        return Two{back * back, back * wide(next_i - x_i)};
      },
      Add{}, reinterpret_cast<Two*>(out), next, z, x);
}

template <class Device, class R>
void new_residual(Device device, index_t n, const R* y, R* q, double* out) {
  update_and_reduce_into(
      device, n, 0.0, Targets{q},
      [=] WEFT_KERNEL(R & q_i, R y_i) {
        q_i = y_i - q_i;
        return wide_square(q_i);
      },
      Add{}, out, y);
}

template <class Device>
void next_momentum(Device device, MomentumNumbers numbers) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    bool usable = true;
    for (int i = 0; i < numbers.count; ++i) usable = usable && std::isfinite(numbers.sums[i]);
    double momentum = usable ? 0.0 : -1.0;
    if (usable && numbers.theta != nullptr) {
      const bool restarts = numbers.restart_test != nullptr && *numbers.restart_test > 0;
      const double theta = *numbers.theta;
      const double next = restarts ? 1.0 : 0.5 * (1 + std::sqrt(1 + 4 * theta * theta));
      if (!restarts) momentum = (theta - 1) / next;
      *numbers.theta = next;
    }
    *numbers.momentum = momentum;
  });
}

template <class Device, class R>
void advance(Device device, index_t n, const double* momentum, const R* next, R* x) {
  const DeviceScalar<R> m(momentum);
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { x[i] = m() >= 0 ? next[i] : x[i]; });
}

template <class Device, class R>
void advance_with_momentum(Device device, index_t n, const double* momentum, const R* next, R* x,
                           R* z) {
  const DeviceScalar<R> m(momentum);
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    const R b = m();
    const R moved = next[i] + b * (next[i] - x[i]);
    z[i] = b >= 0 ? moved : z[i];
    x[i] = b >= 0 ? next[i] : x[i];
  });
}

template void next_momentum(WEFT_THIS_DEVICE, MomentumNumbers);

#define INSTANTIATE(R)                                                                             \
  template void distance_and_size(WEFT_THIS_DEVICE, index_t, const R*, const R*, double*);         \
  template void distance(WEFT_THIS_DEVICE, index_t, const R*, const R*, double*);                  \
  template void distance_and_restart_test(WEFT_THIS_DEVICE, index_t, const R*, const R*, const R*, \
                                          double*);                                                \
  template void new_residual(WEFT_THIS_DEVICE, index_t, const R*, R*, double*);                    \
  template void advance(WEFT_THIS_DEVICE, index_t, const double*, const R*, R*);                   \
  template void advance_with_momentum(WEFT_THIS_DEVICE, index_t, const double*, const R*, R*, R*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
