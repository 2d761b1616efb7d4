#include "op/integral/running_sum_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "array/update_math.hpp"

#if !defined(__CUDACC__)
#include "op/integral/running_sum_cpu.hpp"
#endif

namespace weft::kernels {
namespace {

#if defined(__CUDACC__)

/// One thread per line.
template <class T, class Update>
void run_lines(Cuda device, const RunningSumPlan& plan, const T* in, const SumOf<T>* carry, T* out,
               Update update) {
  for_each(device, plan.outer, index_t{1}, plan.inner,
           [=] WEFT_KERNEL(index_t o, index_t, index_t k) {
             const T* source = in + o * plan.in_extent * plan.inner + k;
             T* target = out + o * plan.out_extent * plan.inner + k;
             SumOf<T> sum = carry != nullptr ? carry[o * plan.inner + k] : SumOf<T>{};
             if (plan.edge && !plan.reverse) {
               sum += plan.edge_weight * SumOf<T>(source[0]);
               if (plan.out_first == 1) update(T{}, target[0]);
             }
             for (index_t step = 0; step < plan.n; ++step) {
               const index_t i = plan.reverse ? plan.n - 1 - step : step;
               const SumOf<T> x(source[(plan.in_first + i) * plan.inner]);
               sum += x;
               const SumOf<T> value = plan.halves ? sum - 0.5 * x : sum;
               update(convert_to<T>(plan.scale * value), target[(plan.out_first + i) * plan.inner]);
             }
             if (plan.edge && plan.reverse)
               update(convert_to<T>(plan.scale * plan.edge_weight * sum), target[0]);
           });
}

#endif

template <class Device, class T>
void total_lines(Device device, const RunningSumPlan& plan, const T* in, SumOf<T>* totals) {
  const index_t inner = plan.inner;
  const index_t first = plan.in_first;
  const index_t extent = plan.in_extent;
  const double weight = plan.edge && !plan.reverse ? plan.edge_weight : 0;
  reduce(
      device, plan.outer, plan.n, inner, SumOf<T>{},
      [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
        return SumOf<T>(in[(o * extent + first + i) * inner + k]);
      },
      Add{},
      [=] WEFT_KERNEL(index_t o, index_t k, SumOf<T> sum) {
        if (weight != 0) sum += weight * SumOf<T>(in[o * extent * inner + k]);
        totals[o * inner + k] = sum;
      });
}

}  // namespace

template <class Device, class T>
void running_sums(Device device, const RunningSumPlan& plan, T alpha, const T* in,
                  const SumOf<T>* carry, T beta, T* out) {
  with_update(alpha, beta, [&](auto update) { run_lines(device, plan, in, carry, out, update); });
}

template <class Device, class T>
void line_totals(Device device, const RunningSumPlan& plan, const T* in, SumOf<T>* totals) {
  total_lines(device, plan, in, totals);
}

template <class Device, class A>
void sum_rows(Device device, index_t n, index_t first, index_t last, const A* values, A* sums) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    A sum{};
    for (index_t row = first; row < last; ++row) sum += values[row * n + i];
    sums[i] = sum;
  });
}

#define INSTANTIATE(T)                                                             \
  template void running_sums(WEFT_THIS_DEVICE, const RunningSumPlan&, T, const T*, \
                             const SumOf<T>*, T, T*);                              \
  template void line_totals(WEFT_THIS_DEVICE, const RunningSumPlan&, const T*, SumOf<T>*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(A) \
  template void sum_rows(WEFT_THIS_DEVICE, index_t, index_t, index_t, const A*, A*);
INSTANTIATE(double)
INSTANTIATE(::weft::Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
