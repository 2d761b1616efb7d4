#include <weft/op/basic/to_device.hpp>

#include <weft/op/basic/identity.hpp>

#include <fmt/core.h>

#include "op/scaling.hpp"

#include <optional>

namespace weft {
namespace {

template <Scalar T>
class ToDevice final : public OperatorNode<T> {
 public:
  ToDevice(const Layout& domain, const Layout& range)
      : OperatorNode<T>(fmt::format("to {}", to_string(range.device())), domain, range) {}

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
                       std::optional<DistributedArray<T>>& scratch, Update<T> update) {
    if (update.is_plain()) return copy_elements(from, to);
    if (!scratch) scratch.emplace(to.layout(), uninitialized);
    copy_elements(from, *scratch);
    detail::apply_update<T>(*scratch, to, update);
  }
  static void copy_elements(const ConstArrayView<T>& from, const ArrayView<T>& to) {
    copy_bytes(to.data(), to.device(), from.data(), from.device(),
               static_cast<std::size_t>(from.local_count()) * sizeof(T));
  }

  // Taken by the first update that is not plain: products need none, and memory may be scarce.
  mutable std::optional<DistributedArray<T>> domain_scratch_;
  mutable std::optional<DistributedArray<T>> range_scratch_;
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
