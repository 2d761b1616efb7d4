#include <weft/op/basic/cast.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/identity.hpp>

#include <fmt/core.h>

#include "op/basic/cast_kernels.hpp"

namespace weft {
namespace {

/// A cast between precisions.
template <Scalar From, Scalar To>
class Cast final : public OperatorNode<From, To> {
 public:
  explicit Cast(const Layout& layout)
      : OperatorNode<From, To>(fmt::format("cast to {}", to_string(dtype_of<To>)), layout, layout) {
  }

  void forward(const ConstArrayView<From>& x, const ArrayView<To>& y,
               Update<To> update) const override {
    convert(x, y, update);
  }
  void adjoint(const ConstArrayView<To>& y, const ArrayView<From>& x,
               Update<From> update) const override {
    convert(y, x, update);
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->domain().local_count());
    return {.bytes = elements * (sizeof(From) + sizeof(To))};
  }

 private:
  template <Scalar T, Scalar U>
  static void convert(const ConstArrayView<T>& x, const ArrayView<U>& y, Update<U> update) {
    dispatch(y.device(), [&](auto device) {
      kernels::axpby_cast(device, y.local_count(), kernel_value(update.alpha),
                          kernel_cast(x.data()), kernel_value(update.beta), kernel_cast(y.data()));
    });
  }
};

}  // namespace

template <Scalar To, Scalar From>
LinearOperator<From, To> cast(const Layout& layout) {
  if constexpr (std::same_as<To, From>) {
    return identity<To>(layout);
  } else if constexpr (!std::same_as<Real<To>, Real<From>>) {
    return make_operator<Cast<From, To>>(layout);
  } else if constexpr (is_complex<From>) {
    return real_part<From>(layout);
  } else {
    return adjoint(real_part<To>(layout));
  }
}

#define INSTANTIATE(D, R) template LinearOperator<D, R> cast<R, D>(const Layout&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
