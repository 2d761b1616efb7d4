#include <weft/op/basic/reshape.hpp>

#include <weft/array/reshape.hpp>
#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/reshape_plan.hpp"
#include "op/basic/same_memory.hpp"

namespace weft {
namespace {

template <Scalar T>
class Reshape final : public OperatorNode<T> {
 public:
  Reshape(const Layout& from, const Layout& to)
      : OperatorNode<T>("reshape", from, to),
        forward_(detail::reshape_plan<T>(from, to)),
        adjoint_(detail::reshape_plan<T>(to, from)) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    forward_.run(x, y, update.alpha, update.beta);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    adjoint_.run(y, x, update.alpha, update.beta);
  }
  Cost cost() const override { return cost_of(forward_); }
  Cost adjoint_cost() const override { return cost_of(adjoint_); }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }

 private:
  static Cost cost_of(const detail::FlatExchange<T>& plan) {
    return {.bytes = plan.bytes(), .messages = plan.needs_messages() ? 1.0 : 0.0};
  }

  mutable detail::FlatExchange<T> forward_;
  mutable detail::FlatExchange<T> adjoint_;
};

/// Each group of ranks has an array of its own: between other groups, the adjoint would have to add
/// up or choose among arrays.
void require_same_groups(const Layout& from, const Layout& to) {
  for (int rank = 0; rank < from.comm().size(); ++rank) {
    require(from.group(rank) == to.group(rank),
            "reshape: from {} to {}: both must have the same groups of ranks", to_string(from),
            to_string(to));
  }
}

}  // namespace

template <Scalar T>
LinearOperator<T> reshape(const Layout& from, const Layout& to) {
  detail::agree_on_reshape(from, to, dtype_of<T>);
  require_same_groups(from, to);
  if (from == to) return identity<T>(from);
  if (reshapes_in_place(from, to)) return make_operator<detail::SameMemory<T>>("reshape", from, to);
  return make_operator<Reshape<T>>(from, to);
}

#define INSTANTIATE(T) template LinearOperator<T> reshape<T>(const Layout&, const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
