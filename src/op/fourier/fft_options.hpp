#pragma once

// Checked options of Fourier transforms, for fft.cpp.

#include <weft/op/fourier/fft.hpp>

#include <string>

namespace weft::detail {

/// The options of a transform along one axis.
struct FftAxis {
  int axis;
  index_t nfft;
  bool half;  // of a real array: keeps nonnegative frequencies only
  double sampling;
  bool ifftshift;
  bool fftshift;

  /// Number of frequencies.
  index_t count() const { return half ? nfft / 2 + 1 : nfft; }
};

/// Checks the options and returns them for each of the axes.
std::vector<FftAxis> fft_axes(const Layout& layout, const FftNdOptions& options, bool real,
                              const char* who);
/// The options of fft() as those of fftnd().
FftNdOptions as_nd(const FftOptions& options);
/// Text by which ranks compare their options.
std::string text_of(const FftNdOptions& options);

}  // namespace weft::detail
