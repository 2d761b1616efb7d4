#include <weft/op/basic/redistribute.hpp>

#include <weft/array/redistribute.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "op/scaling.hpp"

#include <algorithm>

namespace weft {
namespace {

template <Scalar T>
class Redistribute final : public OperatorNode<T> {
 public:
  Redistribute(const Layout& from, const Layout& to)
      : OperatorNode<T>("redistribute", from, to),
        forward_(from, to),
        adjoint_(to, from),
        memory_(std::max(from.local_count(), to.local_count()), to.device()),
        in_domain_(from, memory_.data(), from.local_count()),
        in_range_(to, memory_.data(), to.local_count()) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    move(forward_, x, y, in_range_, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    move(adjoint_, y, x, in_domain_, update);
  }
  Cost cost() const override { return cost_of(forward_); }
  Cost adjoint_cost() const override { return cost_of(adjoint_); }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }

 private:
  Cost cost_of(const Redistribution<T>& plan) const {
    const auto elements = this->domain().local_count() + this->range().local_count();
    return {.bytes = sizeof(T) * static_cast<double>(elements),
            .messages = plan.needs_messages() ? 1.0 : 0.0};
  }
  static void move(Redistribution<T>& way, const ConstArrayView<T>& from, const ArrayView<T>& to,
                   const ArrayView<T>& arrived, Update<T> update) {
    if (update.is_plain()) return way.run(from, to);
    way.run(from, arrived);
    detail::put(arrived, to, update);
  }

  mutable Redistribution<T> forward_;
  mutable Redistribution<T> adjoint_;
  Buffer<T> memory_;  // receives elements that are not written directly to the output
  ArrayView<T> in_domain_;
  ArrayView<T> in_range_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> redistribute(const Layout& from, const Layout& to) {
  detail::agree_on_plan("redistribute", {&from, &to}, dtype_of<T>);
  if (from == to) return identity<T>(from);
  return make_operator<Redistribute<T>>(from, to);
}

#define INSTANTIATE(T) template LinearOperator<T> redistribute<T>(const Layout&, const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
