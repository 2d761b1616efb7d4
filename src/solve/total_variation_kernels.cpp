#include "solve/total_variation_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "kernel/kernel_math.hpp"

#include <cmath>

namespace weft::kernels {
namespace {

template <class R>
WEFT_FUNCTION R square_of(R x) {
  return x * x;
}
template <class R>
WEFT_FUNCTION R square_of(Complex<R> z) {
  return z.re * z.re + z.im * z.im;
}

/// Shrinks the vector at one point. `known` is the number of components, so that the compiler
/// unrolls and vectorises the loops over them; if it is 0, `any` is.
template <int known, class K, class R>
struct Shrink {
  index_t n;
  int any;
  R threshold;
  const K* g;
  K* u;
  K* e;

  WEFT_KERNEL double operator()(index_t i) const {
    const int components = known > 0 ? known : any;
    R square{};
    for (int c = 0; c < components; ++c) square += square_of(g[c * n + i] + u[c * n + i]);
    const R length = std::sqrt(square);
    const R share = length > threshold ? R{1} - threshold / length : R{};
    R sum{};
    for (int c = 0; c < components; ++c) {
      const index_t at = c * n + i;
      const K g_i = g[at];
      const K v = g_i + u[at];
      const K z = share * v;
      const K e_i = z - g_i;
      u[at] = v - z;
      e[at] = e_i;
      sum += square_of(e_i);
    }
    return static_cast<double>(sum);
  }
};

template <int known, class Device, class K, class R>
void shrink_all(Device device, const Shrink<known, K, R>& one, double* out) {
  reduce_into(
      device, one.n, 0.0, [=] WEFT_KERNEL(index_t i) { return one(i); }, Add{}, out);
}

}  // namespace

template <class Device, class K, class R>
void shrink(Device device, index_t n, int components, R threshold, const K* g, K* u, K* e,
            double* out) {
  switch (components) {
    case 1: return shrink_all(device, Shrink<1, K, R>{n, 1, threshold, g, u, e}, out);
    case 2: return shrink_all(device, Shrink<2, K, R>{n, 2, threshold, g, u, e}, out);
    case 3: return shrink_all(device, Shrink<3, K, R>{n, 3, threshold, g, u, e}, out);
    default: return shrink_all(device, Shrink<0, K, R>{n, components, threshold, g, u, e}, out);
  }
}

template <class Device, class R>
void change(Device device, index_t n, const R* x, const R* old, double* out) {
  using Two = Complex<double>;
  reduce_into(
      device, n, Two{},
      [=] WEFT_KERNEL(R x_i, R old_i) {
        const auto now = static_cast<double>(x_i);
        const double moved = now - static_cast<double>(old_i);
        return Two{moved * moved, now * now};
      },
      Add{}, reinterpret_cast<Two*>(out), x, old);
}

#define INSTANTIATE(R)                                                                    \
  template void shrink(WEFT_THIS_DEVICE, index_t, int, R, const R*, R*, R*, double*);     \
  template void shrink(WEFT_THIS_DEVICE, index_t, int, R, const Complex<R>*, Complex<R>*, \
                       Complex<R>*, double*);                                             \
  template void change(WEFT_THIS_DEVICE, index_t, const R*, const R*, double*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
