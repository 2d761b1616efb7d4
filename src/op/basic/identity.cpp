#include <weft/op/basic/identity.hpp>

#include "op/scaling.hpp"

namespace weft {
namespace {

template <Scalar T>
class Identity final : public OperatorNode<T> {
 public:
  explicit Identity(const Layout& layout) : OperatorNode<T>("identity", layout, layout) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    detail::apply_update(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    detail::apply_update(y, x, update);
  }
  Cost cost() const override {
    return {.bytes = 2.0 * sizeof(T) * static_cast<double>(this->domain().local_count())};
  }
  AnyOperatorNode::Structure structure() const override {
    return AnyOperatorNode::Structure::identity;
  }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }
};

}  // namespace

template <Scalar T>
LinearOperator<T> identity(const Layout& layout) {
  return make_operator<Identity<T>>(layout);
}

#define INSTANTIATE(T) template LinearOperator<T> identity(const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
