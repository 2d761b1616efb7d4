#include <weft/op/basic/complex_parts.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/zero.hpp>

#include "op/basic/complex_parts_kernels.hpp"

namespace weft {
namespace {

using kernels::Part;

double elements_of(const Layout& layout) { return static_cast<double>(layout.local_count()); }

template <Scalar T>
class ComplexPart final : public OperatorNode<T, Real<T>> {
 public:
  ComplexPart(const Layout& layout, Part part)
      : OperatorNode<T, Real<T>>(part == Part::real ? "real part" : "imaginary part", layout,
                                 layout),
        part_(part) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<Real<T>>& y,
               Update<Real<T>> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::extract_part(device, y.local_count(), part_, update.alpha, kernel_cast(x.data()),
                            update.beta, y.data());
    });
  }
  void adjoint(const ConstArrayView<Real<T>>& y, const ArrayView<T>& x,
               Update<T> update) const override {
    dispatch(x.device(), [&](auto device) {
      kernels::insert_part(device, x.local_count(), part_, kernel_value(update.alpha), y.data(),
                           kernel_value(update.beta), kernel_cast(x.data()));
    });
  }
  Cost cost() const override {
    return {.bytes = elements_of(this->domain()) * (sizeof(T) + sizeof(Real<T>))};
  }

 private:
  Part part_;
};

template <Scalar T>
class Conjugation final : public OperatorNode<T> {
 public:
  explicit Conjugation(const Layout& layout) : OperatorNode<T>("conjugation", layout, layout) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::axpby_conj(device, y.local_count(), kernel_value(update.alpha),
                          kernel_cast(x.data()), kernel_value(update.beta), kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    forward(y, x, update);
  }
  Cost cost() const override { return {.bytes = elements_of(this->domain()) * 2 * sizeof(T)}; }
  bool is_complex_linear() const override { return false; }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }
};

}  // namespace

template <Scalar T>
LinearOperator<T, Real<T>> real_part(const Layout& layout) {
  if constexpr (is_complex<T>) {
    return make_operator<ComplexPart<T>>(layout, Part::real);
  } else {
    return identity<T>(layout);
  }
}

template <Scalar T>
LinearOperator<T, Real<T>> imag_part(const Layout& layout) {
  if constexpr (is_complex<T>) {
    return make_operator<ComplexPart<T>>(layout, Part::imag);
  } else {
    return zero<T>(layout, layout);
  }
}

template <Scalar T>
LinearOperator<T> conjugation(const Layout& layout) {
  if constexpr (is_complex<T>) {
    return make_operator<Conjugation<T>>(layout);
  } else {
    return identity<T>(layout);
  }
}

template <Scalar D, Scalar R>
LinearOperator<D, Real<R>> real_part(const LinearOperator<D, R>& a) {
  return real_part<R>(a.range()) * a;
}

template <Scalar D, Scalar R>
LinearOperator<D, Real<R>> imag_part(const LinearOperator<D, R>& a) {
  return imag_part<R>(a.range()) * a;
}

#define INSTANTIATE(T)                                             \
  template LinearOperator<T, Real<T>> real_part<T>(const Layout&); \
  template LinearOperator<T, Real<T>> imag_part<T>(const Layout&); \
  template LinearOperator<T> conjugation<T>(const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(D, R)                                                           \
  template LinearOperator<D, Real<R>> real_part<D, R>(const LinearOperator<D, R>&); \
  template LinearOperator<D, Real<R>> imag_part<D, R>(const LinearOperator<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
