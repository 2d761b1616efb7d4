#pragma once

#include <weft/op/fourier/fft.hpp>

#include <vector>

namespace weft {

struct DctOptions {
  /// Which of the cosine transforms 1, 2, 3 or 4.
  int type = 2;
  /// The axes to transform; by default all axes of the array.
  std::vector<int> axes = {};
  FftPlanning planning = FftPlanning::estimate;
};

/// Orthonormal discrete cosine transform along one or several axes: of n elements x[j] along an
/// axis, y[k] is the sum over j of
///   type 1: x[j] sqrt(2 / (n - 1)) e[j] e[k] cos(pi j k / (n - 1)), with n > 1
///   type 2: x[j] sqrt(2 / n) e[k] cos(pi (2j + 1) k / 2n)
///   type 3: x[j] sqrt(2 / n) e[j] cos(pi j (2k + 1) / 2n)
///   type 4: x[j] sqrt(2 / n) cos(pi (2j + 1) (2k + 1) / 4n)
/// where e is 1 / sqrt(2) at position 0, and for type 1 also at n - 1, and 1 elsewhere. The adjoint
/// is the inverse; types 2 and 3 are each other's adjoint. Real and imaginary parts of complex
/// arrays are transformed independently. PyLops: DCT.
///
/// Communication: as fftnd of complex arrays, one all_to_all for each distributed axis, and one to
/// return to the distribution of the input.
template <Scalar T>
LinearOperator<T> dct(const Layout& layout, const DctOptions& options = {});

}  // namespace weft
