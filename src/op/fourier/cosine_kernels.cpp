#include "op/fourier/cosine_kernels.hpp"

#include <weft/kernel/for_each.hpp>

namespace weft::kernels {

template <class Device, class R>
void apply_rows(Device device, RowCounts counts, const RowTerm<R>* table, const R* x, R* y) {
  for_each(device, counts.outer, counts.to, counts.inner,
           [=] WEFT_KERNEL(index_t o, index_t r, index_t i) {
             const RowTerm<R> term = table[r];
             y[(o * counts.to + r) * counts.inner + i] =
                 term.weight * x[(o * counts.from + term.row) * counts.inner + i];
           });
}

template <class Device, class R>
void apply_rows(Device device, RowCounts counts, const SpectrumTerm<R>* table, const R* x,
                Complex<R>* y) {
  for_each(device, counts.outer, counts.to, counts.inner,
           [=] WEFT_KERNEL(index_t o, index_t r, index_t i) {
             const SpectrumTerm<R> term = table[r];
             const R first = x[(o * counts.from + term.first) * counts.inner + i];
             const R second = x[(o * counts.from + term.second) * counts.inner + i];
             y[(o * counts.to + r) * counts.inner + i] = first * term.a + second * term.b;
           });
}

template <class Device, class R>
void apply_rows(Device device, RowCounts counts, const ProjectionTerm<R>* table,
                const Complex<R>* x, R* y) {
  for_each(device, counts.outer, counts.to, counts.inner,
           [=] WEFT_KERNEL(index_t o, index_t r, index_t i) {
             const ProjectionTerm<R> term = table[r];
             const Complex<R> value = x[(o * counts.from + term.row) * counts.inner + i];
             y[(o * counts.to + r) * counts.inner + i] = term.re * value.re + term.im * value.im;
           });
}

#define INSTANTIATE(R)                                                                    \
  template void apply_rows(WEFT_THIS_DEVICE, RowCounts, const RowTerm<R>*, const R*, R*); \
  template void apply_rows(WEFT_THIS_DEVICE, RowCounts, const SpectrumTerm<R>*, const R*, \
                           Complex<R>*);                                                  \
  template void apply_rows(WEFT_THIS_DEVICE, RowCounts, const ProjectionTerm<R>*,         \
                           const Complex<R>*, R*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
