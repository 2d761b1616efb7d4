#include "solve/solver_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "kernel/kernel_math.hpp"

namespace weft::kernels {
namespace {

WEFT_FUNCTION double value_of(double numerator, double denominator) {
  return numerator > 0 && denominator > 0 ? numerator / denominator : 0.0;
}

#if defined(__CUDACC__)

/// Read by every thread. No kernel writes these numbers at the same time, so the compiler can keep
/// them in registers.
template <class R>
struct Coefficient {
  Quotient quotient;

  __device__ R operator()() const {
    double denominator = __ldg(quotient.denominator);
    if (quotient.extra != nullptr) denominator += quotient.weight * __ldg(quotient.extra);
    return static_cast<R>(value_of(__ldg(quotient.numerator), denominator));
  }
  /// Not known on the host; each thread tests its step with moved_if().
  bool stops() const { return false; }
};

template <class R>
WEFT_FUNCTION R moved_if(R step, R moved, R old) {
  return step != R{} ? moved : old;
}

template <class R>
Coefficient<R> read(Quotient quotient) {
  return {quotient};
}

#else

/// Computed before the loop.
template <class R>
struct Coefficient {
  R value;

  R operator()() const { return value; }
  bool stops() const { return value == R{}; }
};

/// No test here: a stopped loop is not started, and a branch would prevent vectorisation.
template <class R>
R moved_if(R, R moved, R) {
  return moved;
}

template <class R>
Coefficient<R> read(Quotient quotient) {
  double denominator = *quotient.denominator;
  if (quotient.extra != nullptr) denominator += quotient.weight * *quotient.extra;
  return {static_cast<R>(value_of(*quotient.numerator, denominator))};
}

#endif

template <class R>
WEFT_FUNCTION double wide_product(R x, R y) {
  return static_cast<double>(x) * static_cast<double>(y);
}

/// x += alpha p, p = s + beta p
template <class R>
struct SolutionStep {
  Coefficient<R> alpha;
  Coefficient<R> beta;

  WEFT_KERNEL void operator()(R& x, R& p, R s) const {
    const R step = alpha();
    const R last = p;
    p = moved_if(step, s + beta() * last, last);
    x = moved_if(step, x + step * last, x);
  }
};

}  // namespace

template <class Device, class R>
void real_dot(Device device, index_t n, const R* x, const R* y, double* out) {
  reduce_into(
      device, n, 0.0, [=] WEFT_KERNEL(R x_i, R y_i) { return wide_product(x_i, y_i); }, Add{}, out,
      x, y);
}

template <class Device, class R>
void real_dots(Device device, index_t n, const R* x, const R* y, const R* z, double* out) {
  // Two sums in one pass: a pair of doubles with an addition.
  using Two = Complex<double>;
  reduce_into(
      device, n, Two{},
      [=] WEFT_KERNEL(R x_i, R y_i, R z_i) {
        return Two{wide_product(x_i, z_i), wide_product(y_i, z_i)};
      },
      Add{}, reinterpret_cast<Two*>(out), x, y, z);
}

template <class Device, class R>
void step_residual(Device device, index_t n, Quotient alpha, const R* q, R* r, double* out) {
  const auto a = read<R>(alpha);
  if (a.stops()) return real_dot(device, n, r, r, out);
  update_and_reduce_into(
      device, n, 0.0, Targets{r},
      [=] WEFT_KERNEL(R & r_i, R q_i) {
        const R step = a();
        r_i = moved_if(step, r_i - step * q_i, r_i);
        return wide_product(r_i, r_i);
      },
      Add{}, out, q);
}

template <class Device, class R>
void damp_gradient(Device device, index_t n, double weight, Quotient alpha, const R* x, const R* p,
                   R* s, double* out) {
  const auto a = read<R>(alpha);
  const auto damping = static_cast<R>(weight);
  const R* along = a.stops() ? x : p;  // if alpha is 0, p may be NaN
  update_and_reduce_into(
      device, n, 0.0, Targets{s},
      [=] WEFT_KERNEL(R & s_i, R x_i, R p_i) {
        const R step = a();
        s_i = s_i - damping * moved_if(step, x_i + step * p_i, x_i);
        return wide_product(s_i, s_i);
      },
      Add{}, out, x, along);
}

template <class Device, class R>
void step_solution(Device device, index_t n, Quotient alpha, Quotient beta, const R* s, R* x,
                   R* p) {
  const SolutionStep<R> step{read<R>(alpha), read<R>(beta)};
  if (step.alpha.stops()) return;
  update(device, n, x, p, step, s);
}

template <class Device, class R>
void step_solution_and_sum(Device device, index_t n, Quotient alpha, Quotient beta, const R* s,
                           R* x, R* p, double* out) {
  const SolutionStep<R> step{read<R>(alpha), read<R>(beta)};
  if (step.alpha.stops()) return real_dot(device, n, p, p, out);
  update_and_reduce_into(
      device, n, 0.0, Targets{x, p},
      [=] WEFT_KERNEL(R & x_i, R & p_i, R s_i) {
        step(x_i, p_i, s_i);
        return wide_product(p_i, p_i);
      },
      Add{}, out, s);
}

template <class Device, class R>
void step_all(Device device, index_t n, Quotient alpha, Quotient beta, const R* u, const R* w, R* p,
              R* q, R* x, R* r, double* out) {
  const auto a = read<R>(alpha);
  const auto b = read<R>(beta);
  if (a.stops()) return real_dot(device, n, r, r, out);
  update_and_reduce_into(
      device, n, 0.0, Targets{p, q, x, r},
      [=] WEFT_KERNEL(R & p_i, R & q_i, R & x_i, R & r_i, R u_i, R w_i) {
        const R step = a();
        p_i = moved_if(step, u_i + b() * p_i, p_i);
        q_i = moved_if(step, w_i + b() * q_i, q_i);
        x_i = moved_if(step, x_i + step * p_i, x_i);
        r_i = moved_if(step, r_i - step * q_i, r_i);
        return wide_product(r_i, r_i);
      },
      Add{}, out, u, w);
}

template <class Device>
void next_curvature(Device device, Quotient beta, const double* ua, const double* last,
                    double* out) {
  const auto b = read<double>(beta);
  const double* gamma_of_last = beta.denominator;
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    const bool is_first = *gamma_of_last == 0;
    const bool stopped = !is_first && !(*last > 0);
    *out = stopped ? *last : *ua - b() * b() * *last;
  });
}

template <class Device>
void add_rows(Device device, index_t n, index_t rows, index_t stride, const double* first,
              double* sums) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    double sum = 0;
    for (index_t row = 0; row < rows; ++row) sum += first[row * stride + i];
    sums[i] = sum;
  });
}

template void next_curvature(WEFT_THIS_DEVICE, Quotient, const double*, const double*, double*);
template void add_rows(WEFT_THIS_DEVICE, index_t, index_t, index_t, const double*, double*);

#define INSTANTIATE(R)                                                                             \
  template void real_dot(WEFT_THIS_DEVICE, index_t, const R*, const R*, double*);                  \
  template void real_dots(WEFT_THIS_DEVICE, index_t, const R*, const R*, const R*, double*);       \
  template void step_residual(WEFT_THIS_DEVICE, index_t, Quotient, const R*, R*, double*);         \
  template void damp_gradient(WEFT_THIS_DEVICE, index_t, double, Quotient, const R*, const R*, R*, \
                              double*);                                                            \
  template void step_solution(WEFT_THIS_DEVICE, index_t, Quotient, Quotient, const R*, R*, R*);    \
  template void step_solution_and_sum(WEFT_THIS_DEVICE, index_t, Quotient, Quotient, const R*, R*, \
                                      R*, double*);                                                \
  template void step_all(WEFT_THIS_DEVICE, index_t, Quotient, Quotient, const R*, const R*, R*,    \
                         R*, R*, R*, double*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
