#pragma once

// Sums of spectra with phases that are linear in frequency, for phase_sum.cpp.

#include <weft/core/shape.hpp>
#include <weft/kernel/complex.hpp>

namespace weft::kernels {

/// Arrays x[outer, inputs, middle, frequencies] and y[outer, outputs, middle, frequencies]; element
/// k along the last axis has the frequency (first + k) df. Frequencies outside of [begin, end) are
/// zero in y.
struct PhaseSum {
  index_t outer;
  index_t inputs;
  index_t outputs;
  index_t middle;
  index_t frequencies;
  index_t first;
  index_t begin;
  index_t end;
  double df;
  const double* input_positions;   // u
  const double* output_positions;  // v
};

/// y[o, q, i, f] = alpha sum over p of exp(2 pi i f u[p] v[q]) x[o, p, i, f] + beta y[o, q, i, f];
/// with beta = 0, y is not read.
template <class Device, class R>
void apply_phase_sum(Device device, const PhaseSum& sum, Complex<R> alpha, const Complex<R>* x,
                     Complex<R> beta, Complex<R>* y);

}  // namespace weft::kernels
