#include "op/interpolation/gather_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

/// The elements of a position: [inner] for outer index o.
template <class T>
WEFT_FUNCTION const T* elements_at(const GatherInput<T>& input, index_t outer, index_t inner,
                                   index_t o, index_t position) {
  return position < input.n ? input.x + (o * input.n + position) * inner
                            : input.received + ((position - input.n) * outer + o) * inner;
}

#if defined(__CUDACC__)

template <class T, class Update>
void sum_each(Cuda device, index_t outer, index_t m, index_t inner, index_t /*entries*/,
              GatherRows<T> rows, GatherInput<T> input, T* y, Update update) {
  for_each(device, outer, m, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    T sum{};
    for (index_t e = rows.begins[i]; e < rows.begins[i + 1]; ++e) {
      sum += rows.weights[e] * elements_at(input, outer, inner, o, rows.columns[e])[k];
    }
    update(sum, y[(o * m + i) * inner + k]);
  });
}

#else

/// Elements along the inner axis that are summed together; their sums stay in the L1 cache.
constexpr index_t piece = 256;

/// Sums of one row for inner positions [begin, end).
template <class T, class Update>
void sum_row(const GatherRows<T>& rows, const GatherInput<T>& input, index_t outer, index_t inner,
             index_t o, index_t i, index_t begin, index_t end, T* y, Update update) {
  for (index_t first = begin; first < end; first += piece) {
    const index_t count = std::min(piece, end - first);
    T sums[piece];
    std::fill_n(sums, count, T{});
    for (index_t e = rows.begins[i]; e < rows.begins[i + 1]; ++e) {
      const T* from = elements_at(input, outer, inner, o, rows.columns[e]) + first;
      const RealOf<T> weight = rows.weights[e];
#pragma omp simd
      for (index_t k = 0; k < count; ++k) sums[k] += weight * from[k];
    }
#pragma omp simd
    for (index_t k = 0; k < count; ++k) update(sums[k], y[first + k]);
  }
}

template <class T, class Update>
void sum_each(Cpu, index_t outer, index_t m, index_t inner, index_t entries, GatherRows<T> rows,
              GatherInput<T> input, T* y, Update update) {
  const int threads = detail::threads_for(outer * std::max(m, entries) * inner);
  if (inner > 1) {
    detail::share_rows(outer * m, inner, threads, [=](index_t row, index_t begin, index_t end) {
      sum_row(rows, input, outer, inner, row / m, row % m, begin, end, y + row * inner, update);
    });
    return;
  }
  detail::share_rows(outer, m, threads, [=](index_t o, index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      T sum{};
      for (index_t e = rows.begins[i]; e < rows.begins[i + 1]; ++e) {
        sum += rows.weights[e] * *elements_at(input, outer, inner, o, rows.columns[e]);
      }
      update(sum, y[o * m + i]);
    }
  });
}

#endif

}  // namespace

template <class Device, class T>
void gather_sums(Device device, index_t outer, index_t m, index_t inner, index_t entries,
                 GatherRows<T> rows, T alpha, GatherInput<T> input, T beta, T* y) {
  if (outer * m * inner == 0) return;
  with_update(alpha, beta, [&](auto update) {
    sum_each(device, outer, m, inner, entries, rows, input, y, update);
  });
}

template <class Device, class T>
void pack_positions(Device device, index_t outer, index_t n, index_t inner, index_t count,
                    const index_t* positions, const T* x, T* packed) {
  for_each(device, count, outer, inner, [=] WEFT_KERNEL(index_t j, index_t o, index_t k) {
    packed[(j * outer + o) * inner + k] = x[(o * n + positions[j]) * inner + k];
  });
}

#define INSTANTIATE(T)                                                                           \
  template void gather_sums(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, GatherRows<T>, \
                            T, GatherInput<T>, T, T*);                                           \
  template void pack_positions(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t,             \
                               const index_t*, const T*, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
