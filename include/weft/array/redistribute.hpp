#pragma once

#include <weft/array/distributed_array.hpp>

#include <memory>
#include <vector>

namespace weft {

/// Moves arrays from one layout to another of the same shape: one all_to_all per run, and no
/// allocation after construction. The inverse, which is also the adjoint, is the redistribution
/// from `to` to `from`. Ranks of one process copy directly from each other's arrays; others pack
/// messages. Within groups, ranks communicate only with their own group.
///
/// Collective over the ranks of a group, which compare their layouts at construction.
template <Scalar T>
class Redistribution {
 public:
  Redistribution(const Layout& from, const Layout& to);
  Redistribution(Redistribution&&) noexcept;
  Redistribution& operator=(Redistribution&&) noexcept;
  ~Redistribution();

  /// Whether any rank needs elements of another; otherwise run() sends nothing.
  bool needs_messages() const;
  /// y = x, in the other layout. x and y must not share memory.
  void run(const ConstArrayView<T>& x, const ArrayView<T>& y);

 private:
  class Plan;
  Layout from_;
  Layout to_;
  std::unique_ptr<Plan> plan_;         // null for a stack
  std::vector<Redistribution> parts_;  // of a stack
};

/// y = x, in the other layout; for repeated use build a Redistribution.
template <Scalar T>
void redistribute(const ConstArrayView<T>& x, const detail::Output<T>& y) {
  Redistribution<T>(x.layout(), y.layout()).run(x, y);
}

}  // namespace weft
