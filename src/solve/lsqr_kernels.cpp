#include "solve/lsqr_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "kernel/kernel_math.hpp"

#include <limits>

namespace weft::kernels {
namespace {

WEFT_FUNCTION bool is_finite_norm(double norm) {
  return norm <= std::numeric_limits<double>::max();  // false for NaN
}

WEFT_FUNCTION double inverse_of(double norm) { return norm > 0 ? 1 / norm : 0.0; }

/// Coefficients of lsqr_extend(), computed from scalars in device memory.
template <class R>
struct Extension {
  struct Coefficients {
    R from_q;
    R from_u;
  };
  const double* runs;
  const double* other;
  const double* own;
  double factor;

  WEFT_FUNCTION bool is_running() const { return *runs != 0; }
  WEFT_FUNCTION Coefficients coefficients() const {
    return {static_cast<R>(factor * inverse_of(*other)), static_cast<R>(*other * inverse_of(*own))};
  }
};

/// Coefficients of lsqr_step().
template <class R>
struct Step {
  struct Coefficients {
    R from_v;
    R from_w;
    R step;
    R squared_inverse_rho;
  };
  const LsqrNumbers* numbers;

  WEFT_FUNCTION bool is_running() const { return numbers->runs != 0; }
  WEFT_FUNCTION Coefficients coefficients() const {
    const double inverse_rho = inverse_of(numbers->rho);
    return {static_cast<R>(inverse_of(numbers->alpha)), static_cast<R>(numbers->back),
            static_cast<R>(numbers->step), static_cast<R>(inverse_rho * inverse_rho)};
  }
};

#if defined(__CUDACC__)

/// Read by every thread; each thread tests runs().
template <class Source>
struct LsqrCoefficients {
  Source source;

  explicit LsqrCoefficients(Source from) : source(from) {}
  bool stops() const { return false; }
  __device__ bool runs() const { return source.is_running(); }
  __device__ auto operator()() const { return source.coefficients(); }
};

#else

/// Read before the loop. A stopped loop is not started: a test in it would prevent vectorisation.
template <class Source>
struct LsqrCoefficients {
  typename Source::Coefficients known;
  bool stopped;

  explicit LsqrCoefficients(Source from)
      : known(from.coefficients()), stopped(!from.is_running()) {}
  bool stops() const { return stopped; }
  static constexpr bool runs() { return true; }
  auto operator()() const { return known; }
};

#endif

template <class R>
WEFT_FUNCTION double wide_square(R x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

}  // namespace

template <class Device, class R>
void lsqr_extend(Device device, index_t n, const double* runs, const double* other,
                 const double* own, double factor, const R* q, R* u, double* out) {
  const LsqrCoefficients coefficients(Extension<R>{runs, other, own, factor});
  update_and_reduce_into(
      device, coefficients.stops() ? 0 : n, 0.0, Targets{u},
      [=] WEFT_KERNEL(R & u_i, R q_i) {
        if (!coefficients.runs()) return 0.0;
        const auto by = coefficients();
        u_i = by.from_q * q_i - by.from_u * u_i;
        return wide_square(u_i);
      },
      Add{}, out, q);
}

template <class Device, class R>
void lsqr_step(Device device, index_t n, const LsqrNumbers* numbers, const R* v, R* w, R* x,
               double* out) {
  // Two sums in one pass: a pair of doubles with an addition.
  using Two = Complex<double>;
  const LsqrCoefficients coefficients(Step<R>{numbers});
  update_and_reduce_into(
      device, coefficients.stops() ? 0 : n, Two{}, Targets{w, x},
      [=] WEFT_KERNEL(R & w_i, R & x_i, R v_i) {
        if (!coefficients.runs()) return Two{};
        const auto by = coefficients();
        w_i = by.from_v * v_i - by.from_w * w_i;
        x_i = x_i + by.step * w_i;
        return Two{wide_square(x_i), wide_square(w_i)};
      },
      Add{}, reinterpret_cast<Two*>(out), v);
}

template <class Device, class R>
void lsqr_add_variance(Device device, index_t n, int parts, const LsqrNumbers* numbers, const R* w,
                       R* variance) {
  const LsqrCoefficients coefficients(Step<R>{numbers});
  if (coefficients.stops()) return;
  const bool is_complex = parts == 2;
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    if (!coefficients.runs()) return;
    const R square = is_complex ? w[2 * i] * w[2 * i] + w[2 * i + 1] * w[2 * i + 1] : w[i] * w[i];
    variance[i] += coefficients().squared_inverse_rho * square;
  });
}

template <class Device>
void lsqr_begin(Device device, LsqrNumbers* numbers) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    LsqrNumbers& now = *numbers;
    now.beta = std::sqrt(now.uu + now.tt);
    now.phi_bar = now.beta;
    now.runs = now.beta > 0 && is_finite_norm(now.beta) ? 1 : 0;
    now.rho = 1;
    now.cosine = -1;  // makes the first rho_bar alpha in lsqr_advance()
  });
}

template <class Device>
void lsqr_rotate(Device device, double damp, LsqrNumbers* numbers) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    LsqrNumbers& now = *numbers;
    if (now.runs == 0) return;
    now.beta = std::sqrt(now.uu + now.tt);
    const double damped = std::hypot(now.rho_bar, damp);
    const double rho = std::hypot(damped, now.beta);
    if (!is_finite_norm(now.beta) || !(damped > 0)) {
      now.runs = 0;
      return;
    }
    now.a_squares += now.alpha * now.alpha + now.beta * now.beta + damp * damp;
    const double psi = damp / damped * now.phi_bar;
    const double phi_damped = now.rho_bar / damped * now.phi_bar;
    now.psi_squares += psi * psi;
    now.rho = rho;
    now.cosine = damped / rho;
    now.sine = now.beta / rho;
    now.step = now.cosine * phi_damped / rho;
    now.phi_bar = now.sine * phi_damped;
  });
}

template <class Device>
void lsqr_advance(Device device, LsqrNumbers* numbers) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    LsqrNumbers& now = *numbers;
    if (now.runs == 0) return;
    now.alpha = std::sqrt(now.vv);
    now.back = now.sine * now.alpha / now.rho;
    now.rho_bar = -now.cosine * now.alpha;
    now.gradient_norm = now.alpha * std::abs(now.cosine * now.phi_bar);
    now.d_squares += now.ww / (now.rho * now.rho);
    now.x_norm = std::sqrt(now.xx);
    if (!(now.alpha > 0) || !is_finite_norm(now.alpha)) now.runs = 0;
  });
}

template void lsqr_begin(WEFT_THIS_DEVICE, LsqrNumbers*);
template void lsqr_rotate(WEFT_THIS_DEVICE, double, LsqrNumbers*);
template void lsqr_advance(WEFT_THIS_DEVICE, LsqrNumbers*);

#define INSTANTIATE(R)                                                                     \
  template void lsqr_extend(WEFT_THIS_DEVICE, index_t, const double*, const double*,       \
                            const double*, double, const R*, R*, double*);                 \
  template void lsqr_step(WEFT_THIS_DEVICE, index_t, const LsqrNumbers*, const R*, R*, R*, \
                          double*);                                                        \
  template void lsqr_add_variance(WEFT_THIS_DEVICE, index_t, int, const LsqrNumbers*, const R*, R*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
