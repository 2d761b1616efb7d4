#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// A regular space axis of n elements: offsets h[j] = (j - n/2) dx, and slownesses
/// p[k] = (k - n/2) 2 pmax / n, with n/2 rounded down.
struct ChirpAxis {
  double dx = 1;
  double pmax = 1;
};

struct ChirpRadonOptions {
  /// Time between samples.
  double dt = 1;
};

/// Linear Radon transform by chirp transforms, in O(n log n): from data d of shape [n, times] to a
/// panel m of the same shape, with Fourier transforms along time,
///   M[p, f] = sum over h of exp(2 pi i f p h) D[h, f].
/// This is the adjoint of fourier_radon2d on these offsets and slownesses. Events wrap around in
/// time: pad the data. PyLops: ChirpRadon2D, whose pmax is this one times dx / dt.
///
/// Spectra are distributed along frequencies if space is distributed: two redistributions. If time
/// is distributed, one or two more. If neither is: no communication.
template <std::floating_point R>
LinearOperator<R> chirp_radon2d(const Layout& data, const ChirpAxis& x,
                                const ChirpRadonOptions& options = {});

/// The same along both space axes of data of shape [y, x, times]. PyLops: ChirpRadon3D.
template <std::floating_point R>
LinearOperator<R> chirp_radon3d(const Layout& data, const ChirpAxis& y, const ChirpAxis& x,
                                const ChirpRadonOptions& options = {});

}  // namespace weft
