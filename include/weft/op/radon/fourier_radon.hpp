#pragma once

#include <weft/op/linear_operator.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// The curves along which a Radon transform spreads or sums: t = tau + p g(h) at offset h.
enum class RadonCurve : std::uint8_t {
  linear,     // g(h) = h
  parabolic,  // g(h) = h^2
};

/// A space axis of a Radon transform.
struct RadonAxis {
  /// Positions h of the data.
  std::vector<double> offsets;
  /// Slownesses or curvatures p of the model, as many as its axis has elements.
  std::vector<double> slownesses;
  RadonCurve curve = RadonCurve::linear;
};

struct FourierRadonOptions {
  /// Time between samples.
  double dt = 1;
  /// Length of the Fourier transforms along time; longer ones than the axis avoid that events wrap
  /// around. By default the number of times.
  std::optional<index_t> nfft = {};
  /// Frequencies [first, end) of the nfft / 2 + 1 are kept; others are zero in the data.
  index_t first_frequency = 0;
  std::optional<index_t> end_frequency = {};
};

/// Radon transform in the frequency domain: from a model m of shape [slownesses, times] to data d
/// of shape [offsets, times],
///   D[h, f] = sum over p of exp(-2 pi i f p g(h)) M[p, f]
/// for the Fourier transforms D and M along time. The adjoint sums along the curves. PyLops:
/// FourierRadon2D.
///
/// Spectra are distributed along frequencies if slownesses or offsets are distributed: two
/// redistributions. If time is distributed, one or two more. If neither is: no communication.
template <std::floating_point R>
LinearOperator<R> fourier_radon2d(const Layout& model, const RadonAxis& x,
                                  const FourierRadonOptions& options = {});

/// The same from a model of shape [y slownesses, x slownesses, times] to data of shape
/// [y offsets, x offsets, times], with the phase f (p_y g(h_y) + p_x g(h_x)), one axis after the
/// other. PyLops: FourierRadon3D.
template <std::floating_point R>
LinearOperator<R> fourier_radon3d(const Layout& model, const RadonAxis& y, const RadonAxis& x,
                                  const FourierRadonOptions& options = {});

}  // namespace weft
