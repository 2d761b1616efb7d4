#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/zero.hpp>

namespace weft {
namespace {

/// The adjoint of an operator from D to R, which maps from R to D.
template <Scalar D, Scalar R>
class Adjoint final : public OperatorNode<R, D> {
 public:
  explicit Adjoint(const LinearOperator<D, R>& a)
      : OperatorNode<R, D>("adjoint", a.range(), a.domain()), a_(a) {}

  const LinearOperator<D, R>& of() const { return a_; }

  void forward(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    a_.adjoint(y, x, update);
  }
  void adjoint(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    a_.forward(x, y, update);
  }
  std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }
  Cost cost() const override { return a_.adjoint_cost(); }
  Cost adjoint_cost() const override { return a_.cost(); }

 private:
  LinearOperator<D, R> a_;
};

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<R, D> adjoint(const LinearOperator<D, R>& a) {
  if (a.is_zero()) return zero<R, D>(a.range(), a.domain());
  if constexpr (std::same_as<D, R>) {
    if (a.is_identity()) return a;
  }
  if (const auto* inner = dynamic_cast<const Adjoint<R, D>*>(a.node().get())) return inner->of();
  return make_operator<Adjoint<D, R>>(a);
}

template <Scalar D, Scalar R>
LinearOperator<R, D> transpose(const LinearOperator<D, R>& a) {
  return adjoint(conj(a));
}

#define INSTANTIATE(D, R)                                             \
  template LinearOperator<R, D> adjoint(const LinearOperator<D, R>&); \
  template LinearOperator<R, D> transpose(const LinearOperator<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
