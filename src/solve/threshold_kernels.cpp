#include "solve/threshold_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "kernel/kernel_math.hpp"

#include <numbers>

namespace weft::kernels {
namespace {

// Thresholding rules: the factor for a number of a given size, and the penalty of the result. The
// comparisons are false for NaN, so that NaN stays NaN.

template <class R>
struct Soft {
  R weight;

  WEFT_FUNCTION R factor(R size) const { return size <= weight ? R{} : (size - weight) / size; }
  WEFT_FUNCTION double penalty(R size) const { return static_cast<double>(size); }
};

template <class R>
struct Hard {
  R threshold;

  WEFT_FUNCTION R factor(R size) const { return size <= threshold ? R{} : R{1}; }
  WEFT_FUNCTION double penalty(R size) const { return size == R{} ? 0.0 : 1.0; }
};

template <class R>
struct Half {
  R weight;
  R threshold;

  WEFT_FUNCTION R factor(R size) const {
    if (size <= threshold) return R{};
    constexpr R third = R{1} / 3;
    const R scaled = third * size;
    const R angle = std::acos(weight / 4 / (scaled * std::sqrt(scaled)));
    return 2 * third * (1 + std::cos(2 * third * (std::numbers::pi_v<R> - angle)));
  }
  WEFT_FUNCTION double penalty(R size) const { return static_cast<double>(std::sqrt(size)); }
};

/// u = T(u); returns P(u).
template <class T, class Rule>
WEFT_FUNCTION double shrink_one(Rule rule, T& u) {
  const RealOf<T> size = abs_of(u);
  const RealOf<T> factor = rule.factor(size);
  u = factor == RealOf<T>{} ? T{} : factor * u;
  return rule.penalty(factor * size);
}

template <class Device, class T, class Rule>
void shrink_by(Device device, index_t n, Rule rule, T* u, double* out) {
  update_and_reduce_into(
      device, n, 0.0, Targets{u}, [=] WEFT_KERNEL(T & u_i) { return shrink_one(rule, u_i); }, Add{},
      out);
}

template <class Device, class T, class Rule>
void step_and_shrink_by(Device device, index_t n, Rule rule, const T* z, double step, T* g,
                        double* out) {
  const auto t = static_cast<RealOf<T>>(step);
  update_and_reduce_into(
      device, n, 0.0, Targets{g},
      [=] WEFT_KERNEL(T & g_i, T z_i) {
        g_i = z_i + t * g_i;
        return shrink_one(rule, g_i);
      },
      Add{}, out, z);
}

template <class R>
Soft<R> soft(double weight) {
  return {static_cast<R>(weight)};
}
template <class R>
Hard<R> hard(double weight) {
  return {static_cast<R>(std::sqrt(2 * weight))};
}
template <class R>
Half<R> half(double weight) {
  return {static_cast<R>(weight), static_cast<R>(1.5 * std::pow(weight, 2.0 / 3))};
}

}  // namespace

template <class Device, class T>
void shrink(Device device, index_t n, Threshold threshold, double weight, T* u, double* out) {
  using R = RealOf<T>;
  switch (threshold) {
    case Threshold::soft: return shrink_by(device, n, soft<R>(weight), u, out);
    case Threshold::hard: return shrink_by(device, n, hard<R>(weight), u, out);
    case Threshold::half: return shrink_by(device, n, half<R>(weight), u, out);
  }
}

template <class Device, class T>
void step_and_shrink(Device device, index_t n, Threshold threshold, double weight, const T* z,
                     double step, T* g, double* out) {
  using R = RealOf<T>;
  switch (threshold) {
    case Threshold::soft: return step_and_shrink_by(device, n, soft<R>(weight), z, step, g, out);
    case Threshold::hard: return step_and_shrink_by(device, n, hard<R>(weight), z, step, g, out);
    case Threshold::half: return step_and_shrink_by(device, n, half<R>(weight), z, step, g, out);
  }
}

#define INSTANTIATE(T)                                                                          \
  template void shrink(WEFT_THIS_DEVICE, index_t, Threshold, double, T*, double*);              \
  template void step_and_shrink(WEFT_THIS_DEVICE, index_t, Threshold, double, const T*, double, \
                                T*, double*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
