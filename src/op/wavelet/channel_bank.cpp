#include "op/wavelet/channel_bank.hpp"

#include "op/to_device.hpp"

#include <algorithm>
#include <numbers>
#include <utility>

namespace weft::detail {

std::vector<BankTerm> decimated_bank(const WaveletFilters& filters) {
  const auto count = static_cast<index_t>(filters.dec_lo.size());
  std::vector<BankTerm> terms;
  for (index_t t = 0; t < count; ++t) {
    // Element 2k + at is element k + shift of the even or odd ones.
    const index_t at = count / 2 - t;
    const int odd = at % 2 == 0 ? 0 : 1;
    const index_t shift = (at - odd) / 2;
    const auto tap = static_cast<std::size_t>(t);
    terms.push_back({0, odd, shift, filters.dec_lo[tap]});
    terms.push_back({1, odd, shift, filters.dec_hi[tap]});
  }
  return terms;
}

std::vector<BankTerm> stationary_bank(const WaveletFilters& filters) {
  const auto count = static_cast<index_t>(filters.dec_lo.size());
  std::vector<BankTerm> terms;
  for (index_t t = 0; t < count; ++t) {
    const auto tap = static_cast<std::size_t>(t);
    terms.push_back({0, 0, count / 2 - t, filters.dec_lo[tap] / std::numbers::sqrt2});
    terms.push_back({1, 0, count / 2 - t, filters.dec_hi[tap] / std::numbers::sqrt2});
  }
  return terms;
}

std::vector<BankTerm> transposed(std::vector<BankTerm> terms) {
  for (BankTerm& term : terms) {
    std::swap(term.output, term.input);
    term.shift = -term.shift;
  }
  return terms;
}

template <Scalar T>
ChannelBank<T>::ChannelBank(const std::vector<BankTerm>& terms, int inputs, int outputs, index_t n,
                            Device device)
    : n_(n), coefficients_(0, device) {
  if (n == 0) return;
  const auto by_shift = [](const BankTerm& a, const BankTerm& b) { return a.shift < b.shift; };
  const auto [least, most] = std::minmax_element(terms.begin(), terms.end(), by_shift);
  taps_ = most->shift - least->shift + 1;
  first_ = -least->shift;
  // Filters longer than a line are wrapped around it.
  const bool wraps = taps_ > n || first_ < 0 || first_ >= taps_;
  if (wraps) {
    taps_ = n;
    first_ = 0;
  }
  std::vector<double> sums(static_cast<std::size_t>(taps_ * inputs * outputs));
  for (const BankTerm& term : terms) {
    const index_t tap = wraps ? (term.shift % n + n) % n : term.shift + first_;
    sums[static_cast<std::size_t>((term.output * inputs + term.input) * taps_ + tap)] +=
        term.coefficient;
  }
  const std::vector<Real<T>> rounded(sums.begin(), sums.end());
  coefficients_ = to_device<Real<T>>(rounded, device);
}

#define INSTANTIATE(T) template class ChannelBank<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
