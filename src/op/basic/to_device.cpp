#include <weft/op/basic/to_device.hpp>

#include <weft/op/basic/identity.hpp>

#include <fmt/core.h>

#include "op/scaling.hpp"

namespace weft {
namespace {

template <Scalar T>
class ToDevice final : public OperatorNode<T> {
 public:
  ToDevice(const Layout& domain, const Layout& range)
      : OperatorNode<T>(fmt::format("to {}", to_string(range.device())), domain, range),
        domain_scratch_(domain, uninitialized),
        range_scratch_(range, uninitialized) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    transfer(x, y, range_scratch_, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    transfer(y, x, domain_scratch_, update);
  }
  // Copies to the host wait for it.
  bool capturable() const override { return false; }
  Cost cost() const override {
    return {.bytes = 2.0 * sizeof(T) * static_cast<double>(this->domain().local_count())};
  }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }

 private:
  static void transfer(const ConstArrayView<T>& from, const ArrayView<T>& to,
                       const ArrayView<T>& scratch, Update<T> update) {
    const ArrayView<T>& target = update.is_plain() ? to : scratch;
    copy_bytes(target.data(), target.device(), from.data(), from.device(),
               static_cast<std::size_t>(from.local_count()) * sizeof(T));
    if (!update.is_plain()) detail::apply_update<T>(scratch, to, update);
  }

  mutable DistributedArray<T> domain_scratch_;
  mutable DistributedArray<T> range_scratch_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> to_device(const Layout& layout, Device device) {
  if (layout.device() == device) return identity<T>(layout);
  return make_operator<ToDevice<T>>(layout, layout.on(device));
}

#define INSTANTIATE(T) template LinearOperator<T> to_device<T>(const Layout&, Device);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
