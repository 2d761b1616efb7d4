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
        domain_scratch_(from, memory_.data(), from.local_count()),
        range_scratch_(to, memory_.data(), to.local_count()) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    run(forward_, x, y, range_scratch_, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    run(adjoint_, y, x, domain_scratch_, update);
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
  static void run(Redistribution<T>& plan, const ConstArrayView<T>& from, const ArrayView<T>& to,
                  const ArrayView<T>& scratch, Update<T> update) {
    if (update.is_plain()) return plan.run(from, to);
    plan.run(from, scratch);
    detail::apply_update(scratch, to, update);
  }

  mutable Redistribution<T> forward_;
  mutable Redistribution<T> adjoint_;
  Buffer<T> memory_;  // receives elements that are not written directly to the output
  ArrayView<T> domain_scratch_;
  ArrayView<T> range_scratch_;
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
