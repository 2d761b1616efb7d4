#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/zero.hpp>

#include "op/checks.hpp"

namespace weft {
namespace {

template <Scalar D, Scalar E, Scalar R>
class Product final : public OperatorNode<D, R> {
 public:
  Product(const LinearOperator<E, R>& a, const LinearOperator<D, E>& b)
      : OperatorNode<D, R>("product", b.domain(), a.range()),
        a_(a),
        b_(b),
        intermediate_(b.range(), uninitialized) {}

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    b_.forward(x, intermediate_);
    a_.forward(intermediate_, y, update);
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    a_.adjoint(y, intermediate_);
    b_.adjoint(intermediate_, x, update);
  }
  std::vector<const AnyOperatorNode*> children() const override {
    return {a_.node().get(), b_.node().get()};
  }

 private:
  LinearOperator<E, R> a_;
  LinearOperator<D, E> b_;
  mutable DistributedArray<E> intermediate_;
};

}  // namespace

template <Scalar D, Scalar E, Scalar R>
LinearOperator<D, R> operator*(const LinearOperator<E, R>& a, const LinearOperator<D, E>& b) {
  if (!(a.domain() == b.range())) {
    refuse(
        "product of {} and {}: {}", a.name(), b.name(),
        detail::difference("the first has domain", a.domain(), "the second has range", b.range()));
  }
  if (a.is_zero() || b.is_zero()) return zero<D, R>(b.domain(), a.range());
  if constexpr (std::same_as<E, R>) {
    if (a.is_identity()) return b;
  }
  if constexpr (std::same_as<D, E>) {
    if (b.is_identity()) return a;
  }
  return make_operator<Product<D, E, R>>(a, b);
}

#define INSTANTIATE(D, E, R) \
  template LinearOperator<D, R> operator*(const LinearOperator<E, R>&, const LinearOperator<D, E>&);
#define INSTANTIATE_RANGES(D, E)         \
  INSTANTIATE(D, E, float)               \
  INSTANTIATE(D, E, double)              \
  INSTANTIATE(D, E, std::complex<float>) \
  INSTANTIATE(D, E, std::complex<double>)
WEFT_FOR_EACH_OPERATOR(INSTANTIATE_RANGES)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE_RANGES)
#undef INSTANTIATE_RANGES
#undef INSTANTIATE

}  // namespace weft
