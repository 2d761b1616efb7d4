#include <weft/op/algebra/operator_algebra.hpp>

#include "op/checks.hpp"

namespace weft {
namespace {

template <Scalar D, Scalar R>
class Sum final : public OperatorNode<D, R> {
 public:
  Sum(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b)
      : OperatorNode<D, R>("sum", a.domain(), a.range()), a_(a), b_(b) {}

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    a_.forward(x, y, update);
    b_.forward(x, y, {update.alpha, 1});
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    a_.adjoint(y, x, update);
    b_.adjoint(y, x, {update.alpha, 1});
  }
  std::vector<const AnyOperatorNode*> children() const override {
    return {a_.node().get(), b_.node().get()};
  }

 private:
  LinearOperator<D, R> a_;
  LinearOperator<D, R> b_;
};

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> operator+(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b) {
  if (!(a.domain() == b.domain())) {
    refuse("sum of {} and {}: {}", a.name(), b.name(),
           detail::difference("the first has domain", a.domain(), "the second has domain",
                              b.domain()));
  }
  if (!(a.range() == b.range())) {
    refuse("sum of {} and {}: {}", a.name(), b.name(),
           detail::difference("the first has range", a.range(), "the second has range", b.range()));
  }
  if (b.is_zero()) return a;
  if (a.is_zero()) return b;
  return make_operator<Sum<D, R>>(a, b);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> operator-(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b) {
  return a + -b;
}

#define INSTANTIATE(D, R)                                               \
  template LinearOperator<D, R> operator+(const LinearOperator<D, R>&,  \
                                          const LinearOperator<D, R>&); \
  template LinearOperator<D, R> operator-(const LinearOperator<D, R>&, const LinearOperator<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
