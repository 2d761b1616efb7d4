#pragma once

// Filters of wavelets, computed from their definitions.

#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// Decomposition and reconstruction filters, low-pass and high-pass, of the same even length.
/// Shorter filters of a biorthogonal pair are padded with zeros.
struct WaveletFilters {
  std::vector<double> dec_lo;
  std::vector<double> dec_hi;
  std::vector<double> rec_lo;
  std::vector<double> rec_hi;
  bool orthogonal;
};

/// Throws an ArgumentError that lists all names if there is no such wavelet.
WaveletFilters wavelet_filters(std::string_view name, const char* who);

/// The dual: decomposition filters are the reconstruction filters reversed in time, and vice versa.
WaveletFilters dual_of(const WaveletFilters& filters);

}  // namespace weft::detail
