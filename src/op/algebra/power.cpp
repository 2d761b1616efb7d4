#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>

#include "op/checks.hpp"

namespace weft {
namespace {

/// Aⁿ for n >= 2, with intermediate results in at most two workspaces.
template <Scalar T>
class Power final : public OperatorNode<T> {
 public:
  Power(const LinearOperator<T>& a, int n)
      : OperatorNode<T>(fmt::format("power {}", n), a.domain(), a.range()), a_(a), n_(n) {
    for (int i = 0; i < std::min(n - 1, 2); ++i) {
      intermediate_.emplace_back(a.domain(), uninitialized);
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    apply(x, y, update, [this](const auto& in, auto& out, Update<T> step_update) {
      a_.forward(in, out, step_update);
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    apply(y, x, update, [this](const auto& in, auto& out, Update<T> step_update) {
      a_.adjoint(in, out, step_update);
    });
  }
  std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }
  Cost cost() const override { return times(a_.cost()); }
  Cost adjoint_cost() const override { return times(a_.adjoint_cost()); }

 private:
  Cost times(const Cost& once) const {
    return {n_ * once.flops, n_ * once.bytes, n_ * once.messages};
  }
  template <class F>
  void apply(const ConstArrayView<T>& in, const ArrayView<T>& out, Update<T> update, F once) const {
    once(in, intermediate_[0], Update<T>{});
    std::size_t latest = 0;
    for (int done = 1; done + 1 < n_; ++done, latest = 1 - latest) {
      once(intermediate_[latest], intermediate_[1 - latest], Update<T>{});
    }
    once(intermediate_[latest], out, update);
  }

  LinearOperator<T> a_;
  int n_;
  mutable std::vector<DistributedArray<T>> intermediate_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> pow(const LinearOperator<T>& a, int n) {
  require(n >= 0, "pow of {}: the exponent must not be negative, got {}", a.name(), n);
  if (!(a.domain() == a.range())) {
    refuse("pow of {}: {}", a.name(),
           detail::difference("the domain is", a.domain(), "the range is", a.range()));
  }
  if (n == 0) return identity<T>(a.domain());
  if (n == 1 || a.is_zero() || a.is_identity()) return a;
  return make_operator<Power<T>>(a, n);
}

#define INSTANTIATE(T) template LinearOperator<T> pow(const LinearOperator<T>&, int);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
