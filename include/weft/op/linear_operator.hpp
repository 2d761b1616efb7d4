#pragma once

#include <weft/op/operator_node.hpp>

#include <memory>
#include <string>
#include <utility>

namespace weft {

namespace detail {
[[noreturn]] void refuse_moved_operator();
}

/// A linear map from arrays of D to arrays of R: a handle on an immutable node, cheap to copy.
/// Sums, products and the rest of the algebra are in operator_algebra.hpp.
///
/// The adjoint is the one of the real inner product, Re<A x, y> = Re<x, Aᴴ y>, which for maps that
/// are linear over complex numbers is the usual one. One thread at a time may apply an operator.
template <Scalar D, Scalar R = D>
class LinearOperator {
 public:
  using Node = OperatorNode<D, R>;
  explicit LinearOperator(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  const Layout& domain() const { return known().domain(); }
  const Layout& range() const { return known().range(); }
  const std::string& name() const { return known().name(); }
  const std::shared_ptr<const Node>& node() const {
    known();
    return node_;
  }

  /// y = alpha A x + beta y. With beta = 0, which is the default, y is not read. x and y must not
  /// share memory. Allocates nothing.
  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update = {}) const;
  /// x = alpha Aᴴ y + beta x.
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update = {}) const;

  /// AᴴA, by a shorter way where the operator knows one.
  LinearOperator<D, D> normal() const;

  Cost cost() const { return known().cost(); }
  Cost adjoint_cost() const { return known().adjoint_cost(); }
  bool capturable() const { return known().capturable(); }
  bool is_complex_linear() const { return known().is_complex_linear(); }
  bool is_zero() const { return known().structure() == Node::Structure::zero; }
  bool is_identity() const { return known().structure() == Node::Structure::identity; }
  /// The operators it is made of as an indented tree, with layouts and costs.
  std::string describe() const;

 private:
  /// Complains if it has been moved from.
  const Node& known() const {
    if (node_ == nullptr) [[unlikely]]
      detail::refuse_moved_operator();
    return *node_;
  }

  std::shared_ptr<const Node> node_;
};

template <Scalar D, Scalar R>
std::string describe(const LinearOperator<D, R>& a) {
  return a.describe();
}

/// A x as a new array.
template <Scalar D, Scalar R>
DistributedArray<R> operator*(const LinearOperator<D, R>& a, const ConstArrayView<D>& x) {
  DistributedArray<R> y(a.range(), uninitialized);
  a.forward(x, y);
  return y;
}

/// A handle on a new node.
template <class Node, class... Args>
typename Node::Handle make_operator(Args&&... args) {
  return typename Node::Handle(std::make_shared<const Node>(std::forward<Args>(args)...));
}

}  // namespace weft
