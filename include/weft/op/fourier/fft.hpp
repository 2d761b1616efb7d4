#pragma once

#include <weft/op/linear_operator.hpp>

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// What the sums of a transform over N elements are multiplied with, in both directions: the
/// adjoint has the same factor.
enum class FftNorm : std::uint8_t {
  ortho,       // 1 / sqrt(N): transforms preserve norms
  none,        // 1
  one_over_n,  // 1 / N
};

/// How much time goes into finding a fast way when an operator is made.
enum class FftPlanning : std::uint8_t {
  estimate,
  measure,  // tries several ways; pays for long transforms that are repeated often. CPU only
};

struct FftOptions {
  int axis = -1;
  /// Length of the transform: longer arrays are cut off, shorter ones filled up with zeros. By
  /// default the extent of the array.
  std::optional<index_t> nfft = {};
  /// The distance of neighbours along the axis, for fft_frequencies.
  double sampling = 1;
  FftNorm norm = FftNorm::ortho;
  /// The array has its origin in the middle.
  bool ifftshift_before = false;
  /// So shall the result.
  bool fftshift_after = false;
  FftPlanning planning = FftPlanning::estimate;
};

/// The same along several axes. Of what is given per axis, none means the default for all of them,
/// and one the same for all.
struct FftNdOptions {
  /// By default all of the array.
  std::vector<int> axes = {};
  std::vector<index_t> nfft = {};
  std::vector<double> sampling = {};
  FftNorm norm = FftNorm::ortho;
  std::vector<bool> ifftshift_before = {};
  std::vector<bool> fftshift_after = {};
  /// Leaves the result where the last step has it, which saves one all_to_all.
  bool transposed = false;
  FftPlanning planning = FftPlanning::estimate;
};

template <Scalar D>
using Spectrum = std::complex<Real<D>>;

/// The discrete Fourier transform along an axis, y[k] = sum over j of x[j] exp(-2 pi i j k / N).
///
/// Of real arrays the first N/2 + 1 frequencies are kept. Those that stand for two are multiplied
/// by sqrt(2), so that norms and the adjoint are those of the whole spectrum.
///
/// Where the axis is cut, the array is moved so that it is not, and back: two all_to_alls.
template <Scalar D>
LinearOperator<D, Spectrum<D>> fft(const Layout& layout, const FftOptions& options = {});

/// The transform along several axes; of a real array the last of `axes` is the one that is halved.
/// One all_to_all for each of them that is cut, and one to move the result back; if the halved axis
/// is cut, one more.
template <Scalar D>
LinearOperator<D, Spectrum<D>> fftnd(const Layout& layout, const FftNdOptions& options = {});

/// The transform along two axes, by default the last ones.
template <Scalar D>
LinearOperator<D, Spectrum<D>> fft2d(const Layout& layout, FftNdOptions options = {});

/// The frequencies of the result along the axis, in cycles per unit of `sampling`.
template <Scalar D>
std::vector<double> fft_frequencies(const Layout& layout, const FftOptions& options = {});
/// The same for each of `axes`.
template <Scalar D>
std::vector<std::vector<double>> fft_frequencies(const Layout& layout, const FftNdOptions& options);

}  // namespace weft
