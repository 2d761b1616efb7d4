#pragma once

#include <weft/op/operator_node.hpp>

#include <memory>
#include <string>
#include <utility>

namespace weft {

namespace detail {
[[noreturn]] void refuse_moved_operator();
}

/// A linear map A from arrays of D to arrays of R: a handle on an immutable node, cheap to copy.
/// Sums, products and the rest of the algebra are in algebra/operator_algebra.hpp.
///
/// The adjoint is that of the real inner product, Re<A x, y> = Re<x, Aᴴ y>; for complex-linear maps
/// it is the usual one. An operator is not thread-safe: it may be applied by one thread at a time.
template <Scalar D, Scalar R = D>
class LinearOperator {
 public:
  using Node = OperatorNode<D, R>;
  explicit LinearOperator(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  /// Layouts of x and y in y = A x.
  const Layout& domain() const { return checked().domain(); }
  const Layout& range() const { return checked().range(); }
  const std::string& name() const { return checked().name(); }
  const std::shared_ptr<const Node>& node() const {
    checked();
    return node_;
  }

  /// y = alpha A x + beta y; y = A x by default. With beta = 0, y is not read. x and y must not
  /// share memory. Allocates nothing.
  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update = {}) const;
  /// x = alpha Aᴴ y + beta x.
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update = {}) const;

  /// AᴴA, simplified where the operator can.
  LinearOperator<D, D> normal() const;

  /// Properties of the operator; see AnyOperatorNode.
  Cost cost() const { return checked().cost(); }
  Cost adjoint_cost() const { return checked().adjoint_cost(); }
  bool capturable() const { return checked().capturable(); }
  bool is_complex_linear() const { return checked().is_complex_linear(); }
  bool is_zero() const { return checked().structure() == Node::Structure::zero; }
  bool is_identity() const { return checked().structure() == Node::Structure::identity; }
  /// The expression tree, indented, with layouts and costs.
  std::string describe() const;

 private:
  /// Throws if the operator has been moved from.
  const Node& checked() const {
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

/// Constructs a node and returns a handle to it.
template <class Node, class... Args>
typename Node::Handle make_operator(Args&&... args) {
  return typename Node::Handle(std::make_shared<const Node>(std::forward<Args>(args)...));
}

}  // namespace weft
