#pragma once

#include <weft/op/linear_operator.hpp>

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// The factor of a transform of N elements. The adjoint has the same factor.
enum class FftNorm : std::uint8_t {
  ortho,       // 1 / sqrt(N): the transform is unitary
  none,        // 1
  one_over_n,  // 1 / N
};

/// How FFTW chooses its algorithm when an operator is constructed. Ignored on GPUs.
enum class FftPlanning : std::uint8_t {
  estimate,  // FFTW_ESTIMATE: from a model, at once
  measure,   // FFTW_MEASURE: by timing candidates; pays off for large transforms applied often
};

struct FftOptions {
  /// The axis to transform.
  int axis = -1;
  /// Length of the transform. Longer axes are truncated, shorter ones padded with zeros. By default
  /// the extent of the axis.
  std::optional<index_t> nfft = {};
  /// Distance between samples along the axis; only fft_frequencies uses it.
  double sampling = 1;
  FftNorm norm = FftNorm::ortho;
  /// The origin of the input is its middle: apply ifftshift before the transform.
  bool ifftshift_before = false;
  /// Put frequency zero in the middle: apply fftshift after the transform.
  bool fftshift_after = false;
  FftPlanning planning = FftPlanning::estimate;
};

/// Options of transforms along several axes; see FftOptions. Each list of values per axis may be
/// empty (defaults), hold one value for all axes, or one per axis.
struct FftNdOptions {
  /// The axes to transform; by default all axes of the array.
  std::vector<int> axes = {};
  std::vector<index_t> nfft = {};
  std::vector<double> sampling = {};
  FftNorm norm = FftNorm::ortho;
  std::vector<bool> ifftshift_before = {};
  std::vector<bool> fftshift_after = {};
  /// Leave the result in the layout of the last step, which saves one all_to_all.
  bool transposed = false;
  FftPlanning planning = FftPlanning::estimate;
};

/// The scalar of the Fourier transform of arrays of D.
template <Scalar D>
using Spectrum = std::complex<Real<D>>;

/// Discrete Fourier transform along an axis: y[k] = c sum over j of x[j] exp(-2 pi i j k / N),
/// where N is nfft and c the factor of `norm`. PyLops: FFT.
///
/// Transforms of real arrays keep the first N/2 + 1 frequencies. All of them but 0 and N/2 are
/// scaled by sqrt(2), since they stand for two frequencies: norms and adjoint are those of the full
/// spectrum.
///
/// Communication: two all_to_alls if the axis is distributed, otherwise none.
template <Scalar D>
LinearOperator<D, Spectrum<D>> fft(const Layout& layout, const FftOptions& options = {});

/// Discrete Fourier transform along several axes. For real arrays, the last of `axes` is the one
/// that keeps N/2 + 1 frequencies. Communication: one all_to_all for each distributed axis, one to
/// return to the input's distribution, and one more if the last axis is distributed and the array
/// is real. PyLops: FFTND.
template <Scalar D>
LinearOperator<D, Spectrum<D>> fftnd(const Layout& layout, const FftNdOptions& options = {});

/// fftnd along two axes, by default the last two. PyLops: FFT2D.
template <Scalar D>
LinearOperator<D, Spectrum<D>> fft2d(const Layout& layout, FftNdOptions options = {});

/// The frequencies of fft() along its axis, in cycles per unit of `sampling`.
template <Scalar D>
std::vector<double> fft_frequencies(const Layout& layout, const FftOptions& options = {});
/// The frequencies of fftnd(), a list for each of `axes`.
template <Scalar D>
std::vector<std::vector<double>> fft_frequencies(const Layout& layout, const FftNdOptions& options);

}  // namespace weft
