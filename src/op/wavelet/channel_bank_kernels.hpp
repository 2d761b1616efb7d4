#pragma once

// Circulant filter banks: all channels of all levels of wavelet transforms, and their transposes.

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// Elements [o, k, i] at x[o * outer_stride + k * row_stride + i].
template <class T>
struct BankInput {
  const T* x;
  index_t outer_stride;
  index_t row_stride;
};
/// Updated as y = alpha sum + beta y; with beta = 0, y is not read.
template <class T>
struct BankOutput {
  T* y;
  index_t outer_stride;
  index_t row_stride;
  T alpha;
  T beta;
};

/// The sum of output q at [o, k, i] is that over inputs p and taps s of
///   coefficients[(q * ins + p) * taps + s] x[p][o, (k + s - first) mod n, i],
/// where taps <= n and 0 <= first < taps. Outputs do not overlap inputs.
template <class T, int ins, int outs>
struct ChannelBankArguments {
  index_t outer;
  index_t n;
  index_t inner;
  index_t taps;
  index_t first;
  const RealOf<T>* coefficients;
  BankInput<T> inputs[ins];
  BankOutput<T> outputs[outs];
};

/// Instantiated for two inputs and outputs, and for one of either.
template <class Device, class T, int ins, int outs>
void apply_channel_bank(Device device, const ChannelBankArguments<T, ins, outs>& bank);

}  // namespace weft::kernels
