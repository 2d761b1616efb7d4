#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct MdcOptions {
  /// Sampling in time and between receivers: weights of the integral.
  double dt = 1;
  double dr = 1;
  /// Use the complex conjugate of the kernel.
  bool conj = false;
  /// The kernel already includes the weight √nt dt dr: dt and dr are ignored.
  bool prescaled = false;
};

/// Multi-dimensional convolution, d = F1ᴴ (√nt dt dr G) F m: from a real model m of shape
/// [nt, ny, nv] to real data d of shape [nt, nx, nv]. G has the shape [frequencies, nx, ny], is the
/// orthonormal Fourier transform of the kernel in time, and may be distributed along its
/// frequencies; it acts as in fredholm1. PyLops: MDC.
///
/// F (`of_model`) and F1 (`of_data`) are orthonormal real Fourier transforms along the first axis,
/// with at least as many frequencies as G; frequencies that G lacks are zero. With
/// ifftshift_before, F takes a model whose times lie on both sides of zero. Communication: that of
/// F and F1, and one redistribution each if they do not distribute frequencies as G does.
template <std::floating_point R>
LinearOperator<R> mdc(DistributedArray<std::complex<R>> kernel,
                      const LinearOperator<R, std::complex<R>>& of_model,
                      const LinearOperator<R, std::complex<R>>& of_data,
                      const MdcOptions& options = {});

/// Time axis and last axis of model and data.
struct MdcTimes {
  /// Number of times; odd if `twosided`.
  index_t nt = 1;
  /// Number of virtual sources: the extent of the last axis.
  index_t nv = 1;
  /// The times of the model lie on both sides of zero.
  bool twosided = true;
};

/// mdc with Fourier transforms that it constructs itself. Model and data are distributed along
/// their second axis (receivers). Communication: two redistributions.
template <std::floating_point R>
LinearOperator<R> mdc(DistributedArray<std::complex<R>> kernel, const MdcTimes& times,
                      const MdcOptions& options = {});

}  // namespace weft
