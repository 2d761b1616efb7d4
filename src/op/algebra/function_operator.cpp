#include <weft/op/algebra/function_operator.hpp>

#include <weft/core/error.hpp>

#include "op/scaling.hpp"

#include <optional>

namespace weft {
namespace {

using detail::OperatorFunction;

template <Scalar D, Scalar R>
class FunctionOperator final : public OperatorNode<D, R> {
 public:
  FunctionOperator(const Layout& domain, const Layout& range, OperatorFunction<D, R> forward,
                   OperatorFunction<R, D> adjoint, const std::string& name)
      : OperatorNode<D, R>(name, domain, range),
        forward_(std::move(forward)),
        adjoint_(std::move(adjoint)) {}

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    apply(forward_, x, y, range_scratch_, update);
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    require(adjoint_ != nullptr, "adjoint of {}: pass an adjoint function to function_operator",
            this->name());
    apply(adjoint_, y, x, domain_scratch_, update);
  }
  // Functions may do anything.
  bool capturable() const override { return false; }
  Cost cost() const override { return Cost::unknown(); }

 private:
  template <Scalar T, Scalar U>
  static void apply(const OperatorFunction<T, U>& function, const ConstArrayView<T>& in,
                    const ArrayView<U>& out, std::optional<DistributedArray<U>>& scratch,
                    Update<U> update) {
    if (update.is_plain()) return function(in, out);
    if (!scratch) scratch.emplace(out.layout(), uninitialized);
    function(in, *scratch);
    detail::apply_update<U>(*scratch, out, update);
  }

  OperatorFunction<D, R> forward_;
  OperatorFunction<R, D> adjoint_;
  // Taken by the first update that is not plain: many functions never see one.
  mutable std::optional<DistributedArray<D>> domain_scratch_;
  mutable std::optional<DistributedArray<R>> range_scratch_;
};

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> function_operator(const Layout& domain, const Layout& range,
                                       OperatorFunction<D, R> forward,
                                       OperatorFunction<R, D> adjoint, const std::string& name) {
  require(forward != nullptr, "function_operator: the forward function of {} is empty", name);
  return make_operator<FunctionOperator<D, R>>(domain, range, std::move(forward),
                                               std::move(adjoint), name);
}

#define INSTANTIATE(D, R)                                                           \
  template LinearOperator<D, R> function_operator<D, R>(                            \
      const Layout&, const Layout&, OperatorFunction<D, R>, OperatorFunction<R, D>, \
      const std::string&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
