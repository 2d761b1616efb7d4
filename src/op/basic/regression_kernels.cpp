#include "op/basic/regression_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

template <class A, int count>
struct Moments {
  A of[count];

  friend WEFT_FUNCTION Moments operator+(Moments a, const Moments& b) {
    for (int k = 0; k < count; ++k) a.of[k] += b.of[k];
    return a;
  }
};

template <class Device, class T, class Update>
void evaluate_each(Device device, index_t n, int order, const RealOf<T>* t, const T* x, T* y,
                   Update update) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    T sum = x[order];
    for (int power = order - 1; power >= 0; --power) sum = t[i] * sum + x[power];
    update(sum, y[i]);
  });
}

template <class Device, class T, class Update>
void put_each(Device device, index_t count, const SumOf<T>* moments, T* x, Update update) {
  for_each(device, count, [=] WEFT_KERNEL(index_t k) { update(convert_to<T>(moments[k]), x[k]); });
}

}  // namespace

template <class Device, class T>
void evaluate_polynomial(Device device, index_t n, int order, const RealOf<T>* t, T alpha,
                         const T* x, T beta, T* y) {
  with_update(alpha, beta, [&](auto update) { evaluate_each(device, n, order, t, x, y, update); });
}

template <class Device, class T>
void sum_moments(Device device, index_t n, int first, const RealOf<T>* t, const T* y,
                 SumOf<T>* moments) {
  constexpr int count = moments_per_pass<T>;
  using A = Moments<SumOf<T>, count>;
  reduce_into(
      device, n, A{},
      [=] WEFT_KERNEL(index_t i) {
        const double base = t[i];
        SumOf<T> term(y[i]);
        for (int power = 0; power < first; ++power) term = base * term;
        A terms;
        for (int k = 0; k < count; ++k) {
          terms.of[k] = term;
          term = base * term;
        }
        return terms;
      },
      Add{}, reinterpret_cast<A*>(moments));
}

template <class Device, class T>
void put_moments(Device device, index_t count, T alpha, const SumOf<T>* moments, T beta, T* x) {
  with_update(alpha, beta, [&](auto update) { put_each(device, count, moments, x, update); });
}

#define INSTANTIATE(T)                                                                             \
  template void evaluate_polynomial(WEFT_THIS_DEVICE, index_t, int, const RealOf<T>*, T, const T*, \
                                    T, T*);                                                        \
  template void sum_moments(WEFT_THIS_DEVICE, index_t, int, const RealOf<T>*, const T*,            \
                            SumOf<T>*);                                                            \
  template void put_moments(WEFT_THIS_DEVICE, index_t, T, const SumOf<T>*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
