#include "op/wavelet/channel_bank_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

template <class T>
WEFT_FUNCTION void update_output(const BankOutput<T>& output, index_t at, T sum) {
  T& y = output.y[at];
  y = is_nonzero(output.beta) ? output.alpha * sum + output.beta * y : output.alpha * sum;
}

#if defined(__CUDACC__)

template <class T, int ins, int outs>
void sum_bank(Cuda device, const ChannelBankArguments<T, ins, outs>& bank) {
  for_each(device, bank.outer, bank.n, bank.inner,
           [=] WEFT_KERNEL(index_t o, index_t k, index_t i) {
             T sums[outs] = {};
             for (index_t s = 0; s < bank.taps; ++s) {
               index_t row = k + s - bank.first;
               if (row < 0) row += bank.n;
               if (row >= bank.n) row -= bank.n;
               for (int p = 0; p < ins; ++p) {
                 const BankInput<T>& input = bank.inputs[p];
                 const T x = input.x[o * input.outer_stride + row * input.row_stride + i];
                 for (int q = 0; q < outs; ++q) {
                   sums[q] += bank.coefficients[(q * ins + p) * bank.taps + s] * x;
                 }
               }
             }
             for (int q = 0; q < outs; ++q) {
               const BankOutput<T>& output = bank.outputs[q];
               update_output(output, o * output.outer_stride + k * output.row_stride + i, sums[q]);
             }
           });
}

#else

/// Elements of an output that are summed together; their sums stay in the L1 cache.
constexpr index_t block_size = 256;
/// Rows of fewer elements are copied together, so that loops are long.
constexpr index_t short_row = 32;

template <class T, int outs>
struct Sums {
  T of[outs][block_size] = {};

  /// Adds coefficient[q * stride] x[j] to the sum j of each output q.
  void add(index_t count, const T* x, const RealOf<T>* coefficients, index_t stride) {
    for (int q = 0; q < outs; ++q) {
      const RealOf<T> coefficient = coefficients[q * stride];
      T* sums = of[q];
#pragma omp simd
      for (index_t j = 0; j < count; ++j) sums[j] += coefficient * x[j];
    }
  }
};

/// `count` elements of one row from element `begin` on, with neighbours read in place.
template <class T, int ins, int outs>
void sum_row(const ChannelBankArguments<T, ins, outs>& bank, index_t o, index_t k, index_t begin,
             index_t count) {
  Sums<T, outs> sums;
  for (index_t s = 0; s < bank.taps; ++s) {
    index_t row = k + s - bank.first;
    if (row < 0) row += bank.n;
    if (row >= bank.n) row -= bank.n;
    for (int p = 0; p < ins; ++p) {
      const BankInput<T>& input = bank.inputs[p];
      sums.add(count, input.x + o * input.outer_stride + row * input.row_stride + begin,
               bank.coefficients + p * bank.taps + s, ins * bank.taps);
    }
  }
  for (int q = 0; q < outs; ++q) {
    const BankOutput<T>& output = bank.outputs[q];
    const index_t at = o * output.outer_stride + k * output.row_stride + begin;
    for (index_t j = 0; j < count; ++j) update_output(output, at + j, sums.of[q][j]);
  }
}

/// `count` short rows from row `begin` on. Their neighbours are copied, piece by piece where there
/// are many taps, so that the rows of all elements of a sum are consecutive.
template <class T, int ins, int outs>
void sum_short_rows(const ChannelBankArguments<T, ins, outs>& bank, index_t o, index_t begin,
                    index_t count) {
  const index_t inner = bank.inner;
  Sums<T, outs> sums;
  T window[2 * block_size];
  const index_t taps_per_piece = 2 * block_size / inner - count + 1;
  for (index_t from = 0; from < bank.taps; from += taps_per_piece) {
    const index_t taps = std::min(taps_per_piece, bank.taps - from);
    for (int p = 0; p < ins; ++p) {
      const BankInput<T>& input = bank.inputs[p];
      index_t row = begin + from - bank.first;
      if (row < 0) row += bank.n;
      for (index_t r = 0; r < count + taps - 1; ++r, ++row) {
        if (row >= bank.n) row -= bank.n;
        const T* x = input.x + o * input.outer_stride + row * input.row_stride;
        for (index_t i = 0; i < inner; ++i) window[r * inner + i] = x[i];
      }
      for (index_t s = 0; s < taps; ++s) {
        sums.add(count * inner, window + s * inner, bank.coefficients + p * bank.taps + from + s,
                 ins * bank.taps);
      }
    }
  }
  for (int q = 0; q < outs; ++q) {
    const BankOutput<T>& output = bank.outputs[q];
    for (index_t r = 0; r < count; ++r) {
      const index_t at = o * output.outer_stride + (begin + r) * output.row_stride;
      for (index_t i = 0; i < inner; ++i) update_output(output, at + i, sums.of[q][r * inner + i]);
    }
  }
}

template <class T, int ins, int outs>
void sum_bank(Cpu, const ChannelBankArguments<T, ins, outs>& bank) {
  const int threads = detail::threads_for(bank.outer * bank.n * bank.inner * bank.taps);
  if (bank.inner >= short_row) {
    const index_t pieces = (bank.inner + block_size - 1) / block_size;
    detail::share_jobs(bank.outer * bank.n * pieces, threads, [&](index_t job) {
      const index_t row = job / pieces;
      const index_t begin = job % pieces * block_size;
      sum_row(bank, row / bank.n, row % bank.n, begin, std::min(block_size, bank.inner - begin));
    });
    return;
  }
  const index_t rows = std::min(bank.n, block_size / bank.inner);
  const index_t pieces = (bank.n + rows - 1) / rows;
  detail::share_jobs(bank.outer * pieces, threads, [&](index_t job) {
    const index_t begin = job % pieces * rows;
    sum_short_rows(bank, job / pieces, begin, std::min(rows, bank.n - begin));
  });
}

#endif

}  // namespace

template <class Device, class T, int ins, int outs>
void apply_channel_bank(Device device, const ChannelBankArguments<T, ins, outs>& bank) {
  if (bank.outer * bank.n * bank.inner == 0) return;
  sum_bank(device, bank);
}

#define INSTANTIATE(T)                                                                      \
  template void apply_channel_bank(WEFT_THIS_DEVICE, const ChannelBankArguments<T, 2, 2>&); \
  template void apply_channel_bank(WEFT_THIS_DEVICE, const ChannelBankArguments<T, 1, 2>&); \
  template void apply_channel_bank(WEFT_THIS_DEVICE, const ChannelBankArguments<T, 2, 1>&);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
