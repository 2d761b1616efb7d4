#include "op/curves/curve_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

/// Model samples whose sums are accumulated together; the sums stay in the L1 cache.
[[maybe_unused]] constexpr index_t gather_block = 512;
[[maybe_unused]] constexpr index_t least_gather_block = 16;

/// Adds alpha x along the curves through one column.
template <class T>
WEFT_FUNCTION void scatter_column(const CurveTable<RealOf<T>>& table, index_t column, T alpha,
                                  const T* x, T* y) {
  const std::int32_t* index = table.index + column * table.samples;
  if (table.weight == nullptr) {
    for (index_t s = 0; s < table.samples; ++s) {
      if (index[s] >= 0) y[index[s]] += alpha * x[s];
    }
    return;
  }
  const RealOf<T>* weight = table.weight + column * table.samples;
  for (index_t s = 0; s < table.samples; ++s) {
    if (index[s] < 0) continue;
    const T value = alpha * x[s];
    y[index[s]] += (1 - weight[s]) * value;
    if (weight[s] != 0) y[index[s] + 1] += weight[s] * value;
  }
}

/// The element of a column where the curve of a sample crosses it.
template <class T>
WEFT_FUNCTION SumOf<T> crossing(const CurveTable<RealOf<T>>& table, index_t column, index_t sample,
                                const T* y) {
  const index_t at = column * table.samples + sample;
  const std::int32_t index = table.index[at];
  if (index < 0) return {};
  const T* element = y + column * table.nt + index;
  if (table.weight == nullptr || table.weight[at] == 0) return SumOf<T>(*element);
  const double weight = table.weight[at];
  return (1 - weight) * SumOf<T>(element[0]) + weight * SumOf<T>(element[1]);
}

template <class T>
WEFT_FUNCTION void scale_column(index_t nt, bool clear, T beta, T* y) {
  for (index_t i = 0; i < nt; ++i) y[i] = clear ? T{} : beta * y[i];
}

#if defined(__CUDACC__)

template <class T>
void scatter_each(Cuda device, CurveTable<RealOf<T>> table, T alpha, const T* x, T beta, T* y) {
  const bool clear = !is_nonzero(beta);
  for_each(device, table.columns, [=] WEFT_KERNEL(index_t column) {
    T* mine = y + column * table.nt;
    scale_column(table.nt, clear, beta, mine);
    scatter_column(table, column, alpha, x, mine);
  });
}

template <class T, class Update>
void gather_each(Cuda device, CurveTable<RealOf<T>> table, const T* y, T* x, Update update) {
  for_each(device, table.samples, [=] WEFT_KERNEL(index_t sample) {
    SumOf<T> sum{};
    for (index_t column = 0; column < table.columns; ++column) {
      sum += crossing(table, column, sample, y);
    }
    update(convert_to<T>(sum), x[sample]);
  });
}

#else

template <class T>
void scatter_each(Cpu, const CurveTable<RealOf<T>>& table, T alpha, const T* x, T beta, T* y) {
  const bool clear = !is_nonzero(beta);
  const index_t work = table.columns * (table.samples + table.nt);
  detail::share_jobs(table.columns, detail::threads_for(work), [&](index_t column) {
    T* mine = y + column * table.nt;
    scale_column(table.nt, clear, beta, mine);
    scatter_column(table, column, alpha, x, mine);
  });
}

/// Threads share blocks of samples.
template <class T, class Update>
void gather_each(Cpu, const CurveTable<RealOf<T>>& table, const T* y, T* x, Update update) {
  const int threads = detail::threads_for(table.columns * table.samples);
  const index_t even = table.samples / (2 * threads) + 1;
  const index_t block = std::clamp(even, least_gather_block, gather_block);
  detail::share_jobs((table.samples + block - 1) / block, threads, [&](index_t job) {
    SumOf<T> sums[gather_block] = {};
    const index_t first = job * block;
    const index_t count = std::min(block, table.samples - first);
    for (index_t column = 0; column < table.columns; ++column) {
      for (index_t s = 0; s < count; ++s) sums[s] += crossing(table, column, first + s, y);
    }
    for (index_t s = 0; s < count; ++s) update(convert_to<T>(sums[s]), x[first + s]);
  });
}

#endif

}  // namespace

template <class Device, class T>
void scatter_along_curves(Device device, const CurveTable<RealOf<T>>& table, T alpha, const T* x,
                          T beta, T* y) {
  scatter_each(device, table, alpha, x, beta, y);
}

template <class Device, class T>
void gather_along_curves(Device device, const CurveTable<RealOf<T>>& table, T alpha, const T* y,
                         T beta, T* x) {
  with_update(alpha, beta, [&](auto update) { gather_each(device, table, y, x, update); });
}

#define INSTANTIATE(T)                                                                            \
  template void scatter_along_curves(WEFT_THIS_DEVICE, const CurveTable<RealOf<T>>&, T, const T*, \
                                     T, T*);                                                      \
  template void gather_along_curves(WEFT_THIS_DEVICE, const CurveTable<RealOf<T>>&, T, const T*,  \
                                    T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
