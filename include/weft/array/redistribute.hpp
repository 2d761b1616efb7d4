#pragma once

#include <weft/array/distributed_array.hpp>

#include <memory>

namespace weft {

/// Moves arrays from one layout to another of the same shape, as often as it is run: one
/// all_to_all, and no allocation after construction. Its inverse, and its adjoint, is the one from
/// `to` to `from`. Ranks of one process copy straight out of each other's arrays; others pack what
/// they send. Within groups, each rank takes its part from its group, and nothing leaves it.
///
/// Collective over the ranks of a group, which compare their layouts when they make one.
template <Scalar T>
class Redistribution {
 public:
  Redistribution(const Layout& from, const Layout& to);
  Redistribution(Redistribution&&) noexcept;
  Redistribution& operator=(Redistribution&&) noexcept;
  ~Redistribution();

  /// Whether any rank gets something from another; else run() sends nothing.
  bool needs_messages() const;
  /// y = x, in the other layout.
  void run(const ConstArrayView<T>& x, const ArrayView<T>& y);

 private:
  class Plan;
  Layout from_;
  Layout to_;
  std::unique_ptr<Plan> plan_;         // null for a stack
  std::vector<Redistribution> parts_;  // of a stack
};

/// y = x, in the other layout; for repeated use make a Redistribution.
template <Scalar T>
void redistribute(const ConstArrayView<T>& x, const detail::Output<T>& y) {
  Redistribution<T>(x.layout(), y.layout()).run(x, y);
}

}  // namespace weft
