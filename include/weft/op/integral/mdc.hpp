#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct MdcOptions {
  /// Steps in time and between receivers, that the integral is weighted with.
  double dt = 1;
  double dr = 1;
  /// Multiplies with the complex conjugate of the kernel.
  bool conj = false;
  /// The kernel is weighted already: dt, dr and the number of times are not used.
  bool prescaled = false;
};

/// Multi-dimensional convolution: from a model [nt, ny, nv] to data [nt, nx, nv], both real, by a
/// kernel G of shape [frequencies, nx, ny], the orthonormal transform of a kernel in time, which
/// may be cut along its frequencies. Both Fourier transforms go along the first axis, to at least
/// as many frequencies, and are orthonormal (a scaling that the weight √nt dt dr makes up for);
/// that of the model decides whether its times are on both sides of zero.
///
/// Frequencies that G does not have are zero. Where the transforms do not leave frequencies as G
/// is cut, they are redistributed, once each way.
template <std::floating_point R>
LinearOperator<R> mdc(DistributedArray<std::complex<R>> kernel,
                      const LinearOperator<R, std::complex<R>>& of_model,
                      const LinearOperator<R, std::complex<R>>& of_data,
                      const MdcOptions& options = {});

/// The times of model and data.
struct MdcTimes {
  /// Odd if they are on both sides of zero.
  index_t nt = 1;
  /// Virtual sources: the last axis of model and data.
  index_t nv = 1;
  bool twosided = true;
};

/// The same with transforms of its own. Model and data are cut along their second axis (receivers),
/// where the transforms need no messages; between them and the kernel, cut along frequencies, lies
/// one redistribution each.
template <std::floating_point R>
LinearOperator<R> mdc(DistributedArray<std::complex<R>> kernel, const MdcTimes& times,
                      const MdcOptions& options = {});

}  // namespace weft
