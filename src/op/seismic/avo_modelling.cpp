#include <weft/op/seismic/avo_modelling.hpp>

#include <weft/core/error.hpp>

#include "op/axis_layout.hpp"
#include "op/matrix/gemm.hpp"
#include "op/to_device.hpp"

#include <cmath>
#include <utility>

namespace weft {
namespace {

using detail::MatrixForm;

template <Scalar T>
class AvoModelling final : public OperatorNode<T> {
 public:
  /// `matrices` has one matrix [angles, parameters] for all samples, or one per sample of this
  /// rank.
  AvoModelling(const Layout& domain, const Layout& range, bool vary, const std::vector<T>& matrices)
      : OperatorNode<T>("AVO modelling", domain, range),
        samples_(domain.box().shape[0]),
        inner_(domain.box().shape.count(2, domain.ndim())),
        angles_(range.shape()[1]),
        parameters_(domain.shape()[1]),
        stride_(vary ? angles_ * parameters_ : 0),
        matrices_(detail::to_device<T>(matrices, domain.device())) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    multiply(MatrixForm::plain, x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    multiply(MatrixForm::adjoint, y, x, update);
  }
  Cost cost() const override {
    const auto elements = this->domain().local_count() + this->range().local_count();
    return {.flops = detail::gemm_flops<T>(size(MatrixForm::plain)),
            .bytes = sizeof(T) * static_cast<double>(elements + matrices_.size())};
  }

 private:
  detail::GemmSize size(MatrixForm form) const {
    if (form == MatrixForm::plain) return {angles_, inner_, parameters_, samples_};
    return {parameters_, inner_, angles_, samples_};
  }
  void multiply(MatrixForm form, const ConstArrayView<T>& x, const ArrayView<T>& y,
                Update<T> update) const {
    if (y.local_count() == 0) return;
    const detail::GemmSize of = size(form);
    detail::gemm<T>(y.device(), form, of, update.alpha, {matrices_.data(), parameters_, stride_},
                    {x.data(), inner_, of.k * inner_}, update.beta,
                    {y.data(), inner_, of.m * inner_});
  }

  index_t samples_;
  index_t inner_;
  index_t angles_;
  index_t parameters_;
  index_t stride_;
  Buffer<T> matrices_;
};

/// The coefficients of all angles for a ratio of vs to vp, row by row.
template <Scalar T>
std::vector<T> matrix_of(const std::vector<double>& theta, double vsvp,
                         const AvoLinearization& linearization, index_t parameters) {
  std::vector<T> matrix;
  for (const double angle : theta) {
    const std::vector<double> row = linearization(angle, vsvp);
    require(std::ssize(row) == parameters,
            "avo_modelling: the linearization has {} coefficients, but the model has {} parameters "
            "along axis 1",
            row.size(), parameters);
    for (const double coefficient : row) matrix.push_back(T(static_cast<Real<T>>(coefficient)));
  }
  return matrix;
}

void check_arguments(const Layout& layout, const std::vector<double>& theta,
                     const AvoModellingOptions& options) {
  require(!layout.is_stack() && layout.ndim() >= 2,
          "avo_modelling: expected a model with axes (samples, parameters, ...), but it is {}",
          to_string(layout));
  require(detail::is_undistributed(layout, 1),
          "avo_modelling: the parameters, axis 1, must not be distributed, but the model is {}",
          to_string(layout));
  require(!theta.empty(), "avo_modelling: there are no angles");
  const index_t samples = layout.shape()[0];
  require(
      options.vsvp.size() == 1 || std::ssize(options.vsvp) == samples,
      "avo_modelling: got {} values of vsvp for {} samples; pass one for all, or one per sample",
      options.vsvp.size(), samples);
  for (const double vsvp : options.vsvp) {
    require(std::isfinite(vsvp) && vsvp > 0,
            "avo_modelling: vsvp must be positive and finite, got {}", vsvp);
  }
  require(options.linearization != nullptr, "avo_modelling: the linearization is empty");
}

}  // namespace

template <Scalar T>
LinearOperator<T> avo_modelling(const Layout& layout, const std::vector<double>& theta,
                                const AvoModellingOptions& options) {
  check_arguments(layout, theta, options);
  const bool vary = options.vsvp.size() > 1;
  const index_t parameters = layout.shape()[1];
  std::vector<T> matrices;
  for (std::size_t t = 0; t < options.vsvp.size(); ++t) {
    const std::vector<T> matrix =
        matrix_of<T>(theta, options.vsvp[t], options.linearization, parameters);
    const index_t begin = layout.box().offset[0];
    const bool is_mine = std::cmp_greater_equal(t, begin) && std::cmp_less(t, layout.box().end(0));
    if (!vary || is_mine) matrices.insert(matrices.end(), matrix.begin(), matrix.end());
  }
  const Layout range = detail::resize_axis(layout, 1, std::ssize(theta));
  return make_operator<AvoModelling<T>>(layout, range, vary, matrices);
}

#define INSTANTIATE(T)                                                                   \
  template LinearOperator<T> avo_modelling<T>(const Layout&, const std::vector<double>&, \
                                              const AvoModellingOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
