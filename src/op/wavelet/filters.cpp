// All filters are factors of the half-band polynomial of Daubechies. With y = (2 - z - 1/z) / 4,
//   P(y) = sum over k < K of binomial(K - 1 + k, k) y^k,
// the product of a low-pass filter and its dual is ((2 + z + 1/z) / 4)^K P(y). A wavelet family
// divides the zeros of this product among the two filters. Computed in long double: the zeros of P
// lose a few digits for K near 20.

#include "op/wavelet/filters.hpp"

#include <weft/core/error.hpp>
#include <weft/op/wavelet/dwt.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>

namespace weft {
namespace detail {
namespace {

using Number = long double;
using Z = std::complex<Number>;
using Taps = std::vector<Z>;

constexpr int most_moments = 20;  // of the orthogonal wavelets

/// Orders of the biorthogonal wavelets, of reconstruction and decomposition.
constexpr std::array<std::array<int, 2>, 15> biorthogonal_orders = {{{1, 1},
                                                                     {1, 3},
                                                                     {1, 5},
                                                                     {2, 2},
                                                                     {2, 4},
                                                                     {2, 6},
                                                                     {2, 8},
                                                                     {3, 1},
                                                                     {3, 3},
                                                                     {3, 5},
                                                                     {3, 7},
                                                                     {3, 9},
                                                                     {4, 4},
                                                                     {5, 5},
                                                                     {6, 8}}};

std::vector<Number> half_band_polynomial(int order) {
  std::vector<Number> coefficients = {1};
  for (int k = 1; k < order; ++k) {
    coefficients.push_back(coefficients.back() * static_cast<Number>(order - 1 + k) /
                           static_cast<Number>(k));
  }
  return coefficients;
}

/// The zeros of a polynomial by the iteration of Aberth and Ehrlich.
Taps zeros_of(const std::vector<Number>& coefficients) {
  const std::size_t count = coefficients.size() - 1;
  Taps zeros;
  for (std::size_t i = 0; i < count; ++i) {
    const Number turn = (static_cast<Number>(i) + 0.3L) / static_cast<Number>(count);
    zeros.push_back(std::polar(0.4L, 2 * std::numbers::pi_v<Number> * turn));
  }
  constexpr int most_steps = 200;
  Number change = 1;
  for (int step = 0; step < most_steps && change > 1e-18L; ++step) {
    change = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Z value = 0;
      Z slope = 0;
      for (std::size_t k = count + 1; k-- > 0;) {
        slope = slope * zeros[i] + value;
        value = value * zeros[i] + coefficients[k];
      }
      Z repulsion = 0;
      for (std::size_t j = 0; j < count; ++j) {
        if (j != i) repulsion += Number{1} / (zeros[i] - zeros[j]);
      }
      const Z newton = value / slope;
      const Z move = newton / (Number{1} - newton * repulsion);
      zeros[i] -= move;
      change = std::max(change, std::abs(move));
    }
  }
  return zeros;
}

/// The zeros of P(y) in groups: a real one, or a conjugate pair. By decreasing real part.
std::vector<Taps> grouped_zeros(int order) {
  std::vector<Taps> groups;
  for (const Z y : zeros_of(half_band_polynomial(order))) {
    if (std::abs(y.imag()) < 1e-12L) {
      groups.push_back({y.real()});
    } else if (y.imag() > 0) {
      groups.push_back({y, std::conj(y)});
    }
  }
  std::sort(groups.begin(), groups.end(),
            [](const Taps& a, const Taps& b) { return a[0].real() > b[0].real(); });
  return groups;
}

/// The zero inside the unit circle of z + 1/z = 2 - 4y.
Z inner_zero(Z y) {
  const Z middle = Number{1} - Number{2} * y;
  const Z z = middle + std::sqrt(middle * middle - Number{1});
  return std::abs(z) < 1 ? z : Number{1} / z;
}

Taps product(const Taps& a, const Taps& b) {
  Taps result(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) result[i + j] += a[i] * b[j];
  }
  return result;
}

/// ((1 + z) / 2)^order
Taps binomial_filter(int order) {
  Taps taps = {1};
  for (int i = 0; i < order; ++i) taps = product(taps, {0.5L, 0.5L});
  return taps;
}

/// The real taps times sqrt(2), with zeros before and after them.
std::vector<double> real_taps(const Taps& taps, std::size_t before = 0, std::size_t after = 0) {
  std::vector<double> result(before);
  for (const Z tap : taps) {
    result.push_back(static_cast<double>(tap.real() * std::numbers::sqrt2_v<Number>));
  }
  result.resize(result.size() + after);
  return result;
}

/// Completes the low-pass filters: hi[k] is the tap k of the other low-pass filter with alternating
/// sign.
WaveletFilters with_high_pass(std::vector<double> dec_lo, std::vector<double> rec_lo,
                              bool orthogonal) {
  std::vector<double> dec_hi = rec_lo;
  std::vector<double> rec_hi = dec_lo;
  for (std::size_t k = 0; k < dec_hi.size(); ++k) {
    if (k % 2 == 0) dec_hi[k] = -dec_hi[k];
    if (k % 2 == 1) rec_hi[k] = -rec_hi[k];
  }
  return {std::move(dec_lo), std::move(dec_hi), std::move(rec_lo), std::move(rec_hi), orthogonal};
}

WaveletFilters orthogonal_filters(std::vector<double> rec_lo) {
  std::vector<double> dec_lo(rec_lo.rbegin(), rec_lo.rend());
  return with_high_pass(std::move(dec_lo), std::move(rec_lo), true);
}

/// ((1 + z) / 2)^order with factors (1 - zero z) / (1 - zero): `outside` tells of each group
/// whether the zeros outside or inside the unit circle are taken.
std::vector<double> orthogonal_low_pass(int order, const std::vector<Taps>& groups,
                                        unsigned outside) {
  Taps taps = binomial_filter(order);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const Z y : groups[i]) {
      Z zero = inner_zero(y);
      if ((outside >> i & 1U) != 0) zero = Number{1} / zero;
      const Z scale = Number{1} / (Number{1} - zero);
      taps = product(taps, {scale, -zero * scale});
    }
  }
  return real_taps(taps);
}

/// The choice of zeros for which the phase of the filter is closest to linear. The phase of a group
/// of zeros inside the unit circle is 0 at frequencies 0 and pi; for those outside it is the
/// opposite, plus a linear phase. Minimizes the sum of squares of the sum of these phases.
unsigned most_linear_phase(const std::vector<Taps>& groups) {
  constexpr int samples = 1024;
  const std::size_t count = groups.size();
  std::vector<std::vector<double>> phases(count, std::vector<double>(samples));
  for (std::size_t i = 0; i < count; ++i) {
    for (const Z y : groups[i]) {
      const auto zero = static_cast<std::complex<double>>(inner_zero(y));
      for (std::size_t s = 0; s < samples; ++s) {
        const double frequency = std::numbers::pi * (static_cast<double>(s) + 0.5) / samples;
        phases[i][s] += std::arg(1.0 - zero * std::polar(1.0, -frequency));
      }
    }
  }
  unsigned best = 0;
  double least = -1;
  // Opposite choices are mirror images of each other: the last group is always inside.
  for (unsigned choice = 0; choice < 1U << (count - 1); ++choice) {
    double sum = 0;
    for (std::size_t s = 0; s < samples; ++s) {
      double phase = 0;
      for (std::size_t i = 0; i < count; ++i) {
        phase += (choice >> i & 1U) != 0 ? -phases[i][s] : phases[i][s];
      }
      sum += phase * phase;
    }
    if (least < 0 || sum < least) {
      least = sum;
      best = choice;
    }
  }
  return best;
}

/// Whether most of the energy of a filter is in its first half.
bool is_front_heavy(const std::vector<double>& taps) {
  double moment = 0;
  for (std::size_t k = 0; k < taps.size(); ++k) {
    moment +=
        (static_cast<double>(2 * k + 1) - static_cast<double>(taps.size())) * taps[k] * taps[k];
  }
  return moment < 0;
}

WaveletFilters daubechies(int order) {
  return orthogonal_filters(orthogonal_low_pass(order, grouped_zeros(order), 0));
}

WaveletFilters symlet(int order) {
  const std::vector<Taps> groups = grouped_zeros(order);
  if (groups.size() < 2) return daubechies(order);
  std::vector<double> taps = orthogonal_low_pass(order, groups, most_linear_phase(groups));
  // A filter and its mirror image are equally good. Published filters are these by convention.
  constexpr std::array front_heavy = {7, 11, 12, 14, 15, 16, 17, 19, 20};
  const bool wanted = std::find(front_heavy.begin(), front_heavy.end(), order) != front_heavy.end();
  if (is_front_heavy(taps) != wanted) std::reverse(taps.begin(), taps.end());
  return orthogonal_filters(std::move(taps));
}

/// A symmetric filter with `order` zeros at z = -1 and groups of zeros of P.
Taps symmetric_filter(int order, const std::vector<Taps>& groups) {
  Taps taps = binomial_filter(order);
  for (const Taps& group : groups) {
    for (const Z y : group) {
      // 1 - y'/y, where y' = (2 - z - 1/z) / 4
      const Z side = Number{0.25L} / y;
      taps = product(taps, {side, Number{1} - Number{2} * side, side});
    }
  }
  return taps;
}

/// Cohen, Daubechies and Feauveau: reconstruction filters of the splines have no zeros of P. Those
/// of 4.4, 5.5 and 6.8 get every second group, for filters of similar length.
WaveletFilters biorthogonal(int rec_order, int dec_order) {
  const std::vector<Taps> groups = grouped_zeros((rec_order + dec_order) / 2);
  std::vector<Taps> of_dec = groups;
  std::vector<Taps> of_rec;
  if (rec_order >= 4) {
    of_dec.clear();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      (i % 2 == 0 ? of_dec : of_rec).push_back(groups[i]);
    }
  }
  if (rec_order == 5) {  // filters of odd length have an even number of zeros at -1
    rec_order = 6;
    dec_order = 4;
  }
  const Taps dec = symmetric_filter(dec_order, of_dec);
  const Taps rec = symmetric_filter(rec_order, of_rec);
  const std::size_t length = (std::max(dec.size(), rec.size()) + 1) / 2 * 2;
  const std::size_t dec_zeros = length - dec.size();
  const std::size_t rec_zeros = length - rec.size();
  return with_high_pass(real_taps(dec, (dec_zeros + 1) / 2, dec_zeros / 2),
                        real_taps(rec, rec_zeros / 2, (rec_zeros + 1) / 2), false);
}

/// The number after a prefix, if the name is the prefix and a number from `first` to 20.
std::optional<int> order_after(std::string_view name, std::string_view prefix, int first) {
  if (!name.starts_with(prefix)) return std::nullopt;
  for (int order = first; order <= most_moments; ++order) {
    if (name == fmt::format("{}{}", prefix, order)) return order;
  }
  return std::nullopt;
}

}  // namespace

WaveletFilters wavelet_filters(std::string_view name, const char* who) {
  if (name == "haar") return daubechies(1);
  if (const auto order = order_after(name, "db", 1)) return daubechies(*order);
  if (const auto order = order_after(name, "sym", 2)) return symlet(*order);
  for (const auto& [rec, dec] : biorthogonal_orders) {
    if (name == fmt::format("bior{}.{}", rec, dec)) return biorthogonal(rec, dec);
  }
  throw ArgumentError(fmt::format("{}: unknown wavelet '{}'; wavelets are {}", who, name,
                                  fmt::join(wavelet_names(), ", ")));
}

WaveletFilters dual_of(const WaveletFilters& filters) {
  const auto reversed = [](const std::vector<double>& taps) {
    return std::vector<double>(taps.rbegin(), taps.rend());
  };
  return {reversed(filters.rec_lo), reversed(filters.rec_hi), reversed(filters.dec_lo),
          reversed(filters.dec_hi), filters.orthogonal};
}

}  // namespace detail

std::vector<std::string> wavelet_names() {
  std::vector<std::string> names = {"haar"};
  for (int order = 1; order <= detail::most_moments; ++order) {
    names.push_back(fmt::format("db{}", order));
  }
  for (int order = 2; order <= detail::most_moments; ++order) {
    names.push_back(fmt::format("sym{}", order));
  }
  for (const auto& [rec, dec] : detail::biorthogonal_orders) {
    names.push_back(fmt::format("bior{}.{}", rec, dec));
  }
  return names;
}

}  // namespace weft
