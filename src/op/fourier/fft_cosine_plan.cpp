// Local cosine transforms by Fourier transforms, for devices that have no cosine transforms. Tables
// hold the factors before and after the transform.

#include <weft/core/buffer.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/fourier/cosine_kernels.hpp"
#include "op/fourier/cosine_plan.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/to_device.hpp"

#include <cmath>
#include <complex>
#include <concepts>
#include <numbers>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

using Z = std::complex<double>;
using kernels::ProjectionTerm;
using kernels::RowTerm;
using kernels::SpectrumTerm;

/// exp(-i pi a / b)
Z unit_root(index_t a, index_t b) {
  return std::polar(1.0,
                    -std::numbers::pi * static_cast<double>(a % (2 * b)) / static_cast<double>(b));
}
template <class F>
Complex<F> narrowed(Z z) {
  return {static_cast<F>(z.real()), static_cast<F>(z.imag())};
}
/// sqrt(a / b)
double root(double a, index_t b) { return std::sqrt(a / static_cast<double>(b)); }

/// A Fourier transform of rows of X, after one table and before another. Tables of rows are for
/// real lines, and tell the direction of the transform: backward if the result is made of them.
template <std::floating_point F, class X, class Before, class After>
class FftCosinePlan final : public CosinePlan<F> {
  using C = std::complex<F>;

 public:
  FftCosinePlan(Device device, const AxisExtents& extents, const std::vector<Before>& before,
                const std::vector<After>& after, index_t length, FftPlanning planning)
      : device_(device),
        extents_(extents),
        before_(to_device<Before>(before, device)),
        after_(to_device<After>(after, device)),
        length_(length),
        count_(is_complex<X> ? length : length / 2 + 1),
        fourier_(
            make_fourier_plan<X>(device, {extents.outer, length, extents.inner}, {1}, planning)),
        lines_(extents.outer * length_ * extents.inner, device),
        spectrum_(extents.outer * count_ * extents.inner, device) {}

  void run(const F* x, F* y) override {
    if constexpr (std::same_as<After, RowTerm<F>>) {
      apply(before_, extents_.n, x, spectrum_.data());
      dispatch(device_, [&](auto) { fourier_->backward(spectrum_.data(), lines_.data()); });
      apply(after_, length_, std::as_const(lines_).data(), y);
    } else {
      apply(before_, extents_.n, x, lines_.data());
      dispatch(device_, [&](auto) { fourier_->forward(lines_.data(), spectrum_.data()); });
      apply(after_, count_, std::as_const(spectrum_).data(), y);
    }
  }

 private:
  /// y = table x
  template <class Term, class From, class To>
  void apply(const Buffer<Term>& table, index_t from_rows, const From* x, To* y) const {
    dispatch(device_, [&](auto device) {
      kernels::apply_rows(device, {extents_.outer, from_rows, table.size(), extents_.inner},
                          table.data(), kernel_cast(x), kernel_cast(y));
    });
  }

  Device device_;
  AxisExtents extents_;
  Buffer<Before> before_;
  Buffer<After> after_;
  index_t length_;
  index_t count_;  // rows of the spectrum
  std::unique_ptr<FourierPlan<X>> fourier_;
  Buffer<X> lines_;
  Buffer<C> spectrum_;
};

/// Types 1 and 2: y is a projection of the transform of reordered rows.
template <std::floating_point F>
using ProjectedPlan = FftCosinePlan<F, F, RowTerm<F>, ProjectionTerm<F>>;
/// Type 3: y are the reordered rows of the backward transform of a spectrum made from x.
template <std::floating_point F>
using SynthesisPlan = FftCosinePlan<F, F, SpectrumTerm<F>, RowTerm<F>>;
/// Type 4: y is a projection of the complex transform of rotated rows.
template <std::floating_point F>
using RotatedPlan = FftCosinePlan<F, std::complex<F>, SpectrumTerm<F>, ProjectionTerm<F>>;

/// Even extension v to 2n - 2 elements: with half of x[j] inside and x[j] / sqrt(2) at the ends,
/// y[k] = sqrt(2 / (n - 1)) e[k] Re(V[k]).
template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> type_1(Device device, const AxisExtents& extents,
                                      FftPlanning planning) {
  const index_t n = extents.n;
  const auto e = [&](index_t k) { return k == 0 || k == n - 1 ? 1 / std::numbers::sqrt2 : 1; };
  std::vector<RowTerm<F>> before;
  std::vector<ProjectionTerm<F>> after;
  for (index_t m = 0; m < 2 * n - 2; ++m) {
    const index_t j = m < n ? m : 2 * n - 2 - m;
    before.push_back({j, static_cast<F>(e(j) == 1 ? 0.5 : e(j))});
  }
  for (index_t k = 0; k < n; ++k) {
    after.push_back({k, static_cast<F>(root(2, n - 1) * e(k)), F{}});
  }
  return std::make_unique<ProjectedPlan<F>>(device, extents, before, after, 2 * n - 2, planning);
}

/// v has the even elements of x, then the odd ones in reverse: with w[k] = exp(-i pi k / 2n),
/// y[k] = sqrt(2 / n) e[k] Re(w[k] V[k]), where V[n - k] = conj(V[k]).
template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> type_2(Device device, const AxisExtents& extents,
                                      FftPlanning planning) {
  const index_t n = extents.n;
  std::vector<RowTerm<F>> before;
  std::vector<ProjectionTerm<F>> after;
  for (index_t m = 0; m < n; ++m) {
    before.push_back({2 * m < n ? 2 * m : 2 * (n - m) - 1, F{1}});
  }
  for (index_t k = 0; k < n; ++k) {
    const Z w = root(k == 0 ? 1 : 2, n) * unit_root(k, 2 * n);
    const bool mirrored = 2 * k > n;
    after.push_back({mirrored ? n - k : k, static_cast<F>(w.real()),
                     static_cast<F>(mirrored ? w.imag() : -w.imag())});
  }
  return std::make_unique<ProjectedPlan<F>>(device, extents, before, after, n, planning);
}

/// The inverse of type 2: with c[k] = x[k] sqrt(n / 2) / e[k], V[k] = conj(w[k]) (c[k] - i c[n -
/// k]) and V[0] = c[0].
template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> type_3(Device device, const AxisExtents& extents,
                                      FftPlanning planning) {
  const index_t n = extents.n;
  std::vector<SpectrumTerm<F>> before = {{0, 0, narrowed<F>(root(1, n)), {}}};
  std::vector<RowTerm<F>> after;
  for (index_t k = 1; k <= n / 2; ++k) {
    const Z w = root(0.5, n) * std::conj(unit_root(k, 2 * n));
    before.push_back({k, n - k, narrowed<F>(w), narrowed<F>(w * Z(0, -1))});
  }
  for (index_t j = 0; j < n; ++j) {
    after.push_back({j % 2 == 0 ? j / 2 : n - (j + 1) / 2, F{1}});
  }
  return std::make_unique<SynthesisPlan<F>>(device, extents, before, after, n, planning);
}

/// (2j + 1) (2k + 1) / 4n = j k / n + j / 2n + (2k + 1) / 4n: a transform of 2n elements, of which
/// the last n are zero.
template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> type_4(Device device, const AxisExtents& extents,
                                      FftPlanning planning) {
  const index_t n = extents.n;
  std::vector<SpectrumTerm<F>> before(static_cast<std::size_t>(2 * n));
  std::vector<ProjectionTerm<F>> after;
  for (index_t j = 0; j < n; ++j) {
    before[static_cast<std::size_t>(j)] = {j, j, narrowed<F>(unit_root(j, 2 * n)), {}};
    const Z w = root(2, n) * unit_root(2 * j + 1, 4 * n);
    after.push_back({j, static_cast<F>(w.real()), static_cast<F>(-w.imag())});
  }
  return std::make_unique<RotatedPlan<F>>(device, extents, before, after, 2 * n, planning);
}

}  // namespace

template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> make_fft_cosine_plan(Device device, int type,
                                                    const AxisExtents& extents,
                                                    FftPlanning planning) {
  switch (type) {
    case 1: return type_1<F>(device, extents, planning);
    case 2: return type_2<F>(device, extents, planning);
    case 3: return type_3<F>(device, extents, planning);
    default: return type_4<F>(device, extents, planning);
  }
}

#define INSTANTIATE(F)                                                                             \
  template std::unique_ptr<CosinePlan<F>> make_fft_cosine_plan<F>(Device, int, const AxisExtents&, \
                                                                  FftPlanning);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::detail
