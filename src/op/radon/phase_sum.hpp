#pragma once

// Sums of spectra along an axis with phases that are linear in frequency: the steps of Radon
// transforms in the frequency domain.

#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft::detail {

/// y[q, f] = sum over p of exp(2 pi i f u[p] v[q]) x[p, f] along an axis of complex arrays whose
/// last axis is frequency: element k has the frequency k df. Frequencies outside of [begin, end)
/// are zero in y. The axis is not distributed; other axes may be.
struct PhaseSumOptions {
  int axis;
  std::vector<double> input_positions;   // u
  std::vector<double> output_positions;  // v
  double df;
  index_t begin;
  index_t end;
};
template <Scalar C>
LinearOperator<C> phase_sum(const Layout& layout, const PhaseSumOptions& options);

/// phase_sum for n inputs and outputs with u[p] v[q] = (p - n/2) (q - n/2) spacing, by a chirp
/// transform: three products with chirps and two Fourier transforms of about 2n elements.
template <Scalar C>
LinearOperator<C> chirp_sum(const Layout& layout, int axis, double spacing, double df);

/// Fᴴ S F, where F is the orthonormal transform along the last axis of a real array, with nfft
/// elements, and S the product of the steps, one for each of the other axes from the last to the
/// first. A step gets a layout in which its axis is not distributed.
template <std::floating_point R>
class SpectralSteps {
  using C = std::complex<R>;

 public:
  SpectralSteps(const Layout& layout, index_t nfft);

  /// The layout for a step along an axis; redistributes if the axis is distributed.
  const Layout& layout_for(int axis);
  void add(const LinearOperator<C>& step) { steps_ = step * steps_; }
  /// The product, to arrays whose axes are distributed like those of the input.
  LinearOperator<R> finish() const;

 private:
  Layout layout_;
  index_t nfft_;
  LinearOperator<R, C> steps_;
};

}  // namespace weft::detail
