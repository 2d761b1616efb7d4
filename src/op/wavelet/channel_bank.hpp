#pragma once

// The coefficients of circulant filter banks on a device.

#include <weft/core/buffer.hpp>
#include <weft/core/scalars.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/wavelet/channel_bank_kernels.hpp"
#include "op/wavelet/filters.hpp"

#include <vector>

namespace weft::detail {

/// y[output][k] += coefficient x[input][(k + shift) mod n]
struct BankTerm {
  int output;
  int input;
  index_t shift;
  double coefficient;
};

/// One level of dwt: inputs are even and odd elements, outputs approximations and details.
std::vector<BankTerm> decimated_bank(const WaveletFilters& filters);
/// One level of swt: the input has two outputs. Shifts are multiples of the dilation of the level.
std::vector<BankTerm> stationary_bank(const WaveletFilters& filters);
/// The terms of the transposed matrix.
std::vector<BankTerm> transposed(std::vector<BankTerm> terms);

/// Coefficients for lines of n rows, as apply_channel_bank expects them.
template <Scalar T>
class ChannelBank {
  using K = KernelType<T>;

 public:
  ChannelBank(const std::vector<BankTerm>& terms, int inputs, int outputs, index_t n,
              Device device);

  index_t taps() const { return taps_; }
  /// Applies it to arrays [outer, n, inner].
  template <int ins, int outs>
  void apply(index_t outer, index_t inner, const kernels::BankInput<K> (&inputs)[ins],
             const kernels::BankOutput<K> (&outputs)[outs]) const {
    kernels::ChannelBankArguments<K, ins, outs> bank{
        outer, n_, inner, taps_, first_, coefficients_.data(), {}, {}};
    for (int p = 0; p < ins; ++p) bank.inputs[p] = inputs[p];
    for (int q = 0; q < outs; ++q) bank.outputs[q] = outputs[q];
    dispatch(coefficients_.device(),
             [&](auto device) { kernels::apply_channel_bank(device, bank); });
  }

 private:
  index_t n_;
  index_t taps_ = 1;
  index_t first_ = 0;
  Buffer<Real<T>> coefficients_;
};

}  // namespace weft::detail
