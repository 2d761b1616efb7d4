#include <weft/op/basic/zero.hpp>

#include "op/scaling.hpp"

namespace weft {
namespace {

template <Scalar D, Scalar R>
class Zero final : public OperatorNode<D, R> {
 public:
  Zero(const Layout& domain, const Layout& range) : OperatorNode<D, R>("zero", domain, range) {}

  void forward(const ConstArrayView<D>&, const ArrayView<R>& y, Update<R> update) const override {
    detail::scale_or_clear(update.beta, y);
  }
  void adjoint(const ConstArrayView<R>&, const ArrayView<D>& x, Update<D> update) const override {
    detail::scale_or_clear(update.beta, x);
  }
  Cost cost() const override {
    return {.bytes = static_cast<double>(this->range().local_count()) * sizeof(R)};
  }
  AnyOperatorNode::Structure structure() const override { return AnyOperatorNode::Structure::zero; }
  std::optional<LinearOperator<D>> normal() const override {
    return zero<D>(this->domain(), this->domain());
  }
};

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> zero(const Layout& domain, const Layout& range) {
  return make_operator<Zero<D, R>>(domain, range);
}

#define INSTANTIATE(D, R) template LinearOperator<D, R> zero(const Layout&, const Layout&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
