#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/zero.hpp>

#include "op/scaling.hpp"

#include <fmt/core.h>

#include <optional>

namespace weft {
namespace {

template <Scalar T>
std::string text_of(T number) {
  if constexpr (is_complex<T>) {
    if (number.imag() != 0) return fmt::format("({:g}{:+g}i)", number.real(), number.imag());
    return fmt::format("{:g}", number.real());
  } else {
    return fmt::format("{:g}", number);
  }
}

template <Scalar D, Scalar R>
class Scaled final : public OperatorNode<D, R> {
 public:
  Scaled(R factor, const LinearOperator<D, R>& a)
      : OperatorNode<D, R>(text_of(factor) + " times", a.domain(), a.range()),
        factor_(factor),
        a_(a) {
    // A real-linear Aᴴ does not commute with a complex factor, which must be applied first.
    if (std::imag(factor) != 0 && !a.is_complex_linear())
      scaled_input_.emplace(a.range(), uninitialized);
  }

  R factor() const { return factor_; }
  const LinearOperator<D, R>& of() const { return a_; }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    a_.forward(x, y, {update.alpha * factor_, update.beta});
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    if (scaled_input_) {
      axpby(detail::conj_of(factor_), y, 0, *scaled_input_);
      a_.adjoint(*scaled_input_, x, update);
    } else if constexpr (is_complex<D> && is_complex<R>) {
      a_.adjoint(y, x, {update.alpha * static_cast<D>(std::conj(factor_)), update.beta});
    } else {
      a_.adjoint(y, x, {update.alpha * static_cast<Real<D>>(std::real(factor_)), update.beta});
    }
  }
  std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }
  std::optional<LinearOperator<D>> normal() const override {
    return static_cast<Real<D>>(std::norm(factor_)) * a_.normal();
  }

 private:
  R factor_;
  LinearOperator<D, R> a_;
  mutable std::optional<DistributedArray<R>> scaled_input_;
};

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> scaled(Coefficient<R> factor, const LinearOperator<D, R>& a) {
  if (factor.value == R{1} || a.is_zero()) return a;
  if (factor.value == R{}) return zero<D, R>(a.domain(), a.range());
  if (const auto* inner = dynamic_cast<const Scaled<D, R>*>(a.node().get())) {
    return scaled(factor.value * inner->factor(), inner->of());
  }
  return make_operator<Scaled<D, R>>(factor.value, a);
}

#define INSTANTIATE(D, R) \
  template LinearOperator<D, R> scaled(Coefficient<R>, const LinearOperator<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
