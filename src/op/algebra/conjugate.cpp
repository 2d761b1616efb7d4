#include <weft/array/arithmetic.hpp>
#include <weft/op/algebra/operator_algebra.hpp>

#include <optional>

namespace weft {
namespace {

template <Scalar T>
Update<T> conj_of(Update<T> update) {
  if constexpr (is_complex<T>) return {std::conj(update.alpha), std::conj(update.beta)};
  return update;
}

/// y = conj(A conj(x)). The output is conjugated in place, before (if it is read) and after A.
template <Scalar D, Scalar R>
class Conjugated final : public OperatorNode<D, R> {
 public:
  explicit Conjugated(const LinearOperator<D, R>& a)
      : OperatorNode<D, R>("conjugate", a.domain(), a.range()), a_(a) {
    if constexpr (is_complex<D>) domain_scratch_.emplace(a.domain(), uninitialized);
    if constexpr (is_complex<R>) range_scratch_.emplace(a.range(), uninitialized);
  }

  const LinearOperator<D, R>& of() const { return a_; }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    if (update.beta != R{}) conjugate_in_place(y);
    a_.forward(conjugated(x, domain_scratch_), y, conj_of(update));
    conjugate_in_place(y);
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    if (update.beta != D{}) conjugate_in_place(x);
    a_.adjoint(conjugated(y, range_scratch_), x, conj_of(update));
    conjugate_in_place(x);
  }
  std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }

 private:
  template <Scalar T>
  static void conjugate_in_place(const ArrayView<T>& x) {
    if constexpr (is_complex<T>) conjugate(x, x);
  }
  template <Scalar T>
  static const ConstArrayView<T>& conjugated(const ConstArrayView<T>& x,
                                             std::optional<DistributedArray<T>>& scratch) {
    if (!scratch) return x;
    conjugate(x, *scratch);
    return *scratch;
  }

  LinearOperator<D, R> a_;
  mutable std::optional<DistributedArray<D>> domain_scratch_;
  mutable std::optional<DistributedArray<R>> range_scratch_;
};

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> conj(const LinearOperator<D, R>& a) {
  if (!is_complex<D> && !is_complex<R>) return a;
  if (a.is_zero() || a.is_identity()) return a;
  if (const auto* inner = dynamic_cast<const Conjugated<D, R>*>(a.node().get())) return inner->of();
  return make_operator<Conjugated<D, R>>(a);
}

#define INSTANTIATE(D, R) template LinearOperator<D, R> conj(const LinearOperator<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
