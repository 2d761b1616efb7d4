#include <weft/op/fourier/dct.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/axis_layout.hpp"
#include "op/axis_options.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/fourier/local_dct.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

std::vector<int> checked_axes(const Layout& layout, const DctOptions& options) {
  std::vector<int> axes = options.axes;
  if (axes.empty()) {
    for (int axis = 0; axis < layout.ndim(); ++axis) axes.push_back(axis);
  }
  require(!axes.empty(), "dct: the array has no axes");
  axes = detail::distinct_axes(std::move(axes), layout.ndim(), "dct");
  const index_t least = options.type == 1 ? 2 : 1;
  for (const int axis : axes) {
    require(layout.shape()[axis] >= least,
            "dct: axis {} of {} has {} elements, but type {} needs at least {}", axis,
            to_string(layout.shape()), layout.shape()[axis], options.type, least);
  }
  return axes;
}

/// The transforms along all axes: first those along axes that are not distributed, then a
/// distributed axis is gathered, and so on.
template <Scalar T>
LinearOperator<T> all_steps(const Layout& layout, std::vector<int> pending,
                            const DctOptions& options) {
  LinearOperator<T> steps = identity<T>(layout);
  while (!pending.empty()) {
    const auto local = std::find_if(pending.begin(), pending.end(), [&](int axis) {
      return detail::is_undistributed(steps.range(), axis);
    });
    if (local == pending.end()) {
      const Layout moved = detail::gather_axis(steps.range(), pending.back());
      steps = redistribute<T>(steps.range(), moved) * steps;
      continue;
    }
    steps = detail::local_dct<T>(steps.range(), *local, options.type, options.planning) * steps;
    pending.erase(local);
  }
  return redistribute<T>(steps.range(), layout) * steps;
}

/// Names the product of steps and simplifies AᴴA.
template <Scalar T>
class Dct final : public OperatorNode<T> {
 public:
  Dct(std::string name, const LinearOperator<T>& steps)
      : OperatorNode<T>(std::move(name), steps.domain(), steps.range()), steps_(steps) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    steps_.forward(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    steps_.adjoint(y, x, update);
  }
  std::vector<const AnyOperatorNode*> children() const override { return {steps_.node().get()}; }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }

 private:
  LinearOperator<T> steps_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> dct(const Layout& layout, const DctOptions& options) {
  detail::agree_on_plan(
      "dct", {&layout}, dtype_of<T>,
      fmt::format("type {}, axes [{}], planning {}", options.type, fmt::join(options.axes, ", "),
                  static_cast<int>(options.planning)));
  require(options.type >= 1 && options.type <= 4, "dct: type must be 1, 2, 3 or 4, got {}",
          options.type);
  detail::require_enumerator(options.planning, FftPlanning::measure, "dct", "FftPlanning");
  const std::vector<int> axes = checked_axes(layout, options);
  detail::require_fourier(layout.device(), "dct");
  return make_operator<Dct<T>>(
      fmt::format("dct {} along ({})", options.type, fmt::join(axes, ", ")),
      all_steps<T>(layout, axes, options));
}

#define INSTANTIATE(T) template LinearOperator<T> dct<T>(const Layout&, const DctOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
