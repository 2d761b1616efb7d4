#pragma once

#include <weft/op/basic/identity.hpp>
#include <weft/op/linear_operator.hpp>

#include "op/scaling.hpp"

#include <optional>

namespace weft::detail {

/// y = x in the memory of each rank, between layouts that give every rank as many elements.
template <Scalar T>
class SameMemory final : public OperatorNode<T> {
 public:
  SameMemory(const char* name, const Layout& from, const Layout& to)
      : OperatorNode<T>(name, from, to) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    apply_update(ConstArrayView<T>(y.layout(), x.data(), x.local_count()), y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    forward(y, x, update);
  }
  Cost cost() const override {
    return {.bytes = 2.0 * sizeof(T) * static_cast<double>(this->domain().local_count())};
  }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }
};

}  // namespace weft::detail
