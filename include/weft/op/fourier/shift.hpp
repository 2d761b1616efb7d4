#pragma once

#include <weft/op/linear_operator.hpp>

#include <optional>
#include <vector>

namespace weft {

struct ShiftOptions {
  /// The shift in the unit of `sampling`, positive towards larger indices: one for all traces,
  /// or one per trace, in row-major order of the array without the axis.
  std::vector<double> shift = {0};
  /// The axis to shift along; a trace is a line along it.
  int axis = -1;
  /// Distance between samples along the axis.
  double sampling = 1;
  /// Length of the Fourier transform, at least the extent of the axis, which is the default. The
  /// shift is circular over these samples; choose it larger to shift in zeros.
  std::optional<index_t> nfft = {};
};

/// Shift along an axis by any fraction of a sample: y = Fᴴ exp(-2 pi i f s) F x, where F is the
/// unitary Fourier transform along the axis with zeros appended up to nfft, f its frequencies and s
/// the shift of the trace. All ranks pass the same shifts. PyLops: Shift, whose option `real` is
/// the type T here.
///
/// Arrays of real numbers stay real: if nfft is even, the highest frequency is scaled by the cosine
/// of its phase. Shifts by whole samples move elements without changing them, up to rounding.
///
/// Communication: two all_to_alls if the axis is distributed, otherwise none.
template <Scalar T>
LinearOperator<T> shift(const Layout& layout, const ShiftOptions& options = {});

}  // namespace weft
