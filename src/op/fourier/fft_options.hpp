#pragma once

#include <weft/op/fourier/fft.hpp>

#include <string>

namespace weft::detail {

/// A transform along one axis.
struct FftAxis {
  int axis;
  index_t nfft;
  bool half;  // only the frequencies that are not negative are kept
  double sampling;
  bool ifftshift;
  bool fftshift;

  /// Number of frequencies.
  index_t count() const { return half ? nfft / 2 + 1 : nfft; }
};

/// Checks the options; one FftAxis for each of the axes.
std::vector<FftAxis> fft_axes(const Layout& layout, const FftNdOptions& options, bool real,
                              const char* who);
FftNdOptions as_nd(const FftOptions& options);
/// What ranks compare.
std::string text_of(const FftNdOptions& options);

}  // namespace weft::detail
