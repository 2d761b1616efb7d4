#pragma once

#include <weft/array/distributed_array.hpp>
#include <weft/core/dtype.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// The coefficients of y = alpha A x + beta y. With beta = 0, y is not read.
template <Scalar T>
struct Update {
  T alpha;
  T beta;

  Update(Coefficient<T> a = 1, Coefficient<T> b = 0) : alpha(a.value), beta(b.value) {}
  /// y = A x: alpha = 1 and beta = 0.
  bool is_plain() const { return alpha == T{1} && beta == T{}; }
};

/// The cost of one application on this rank; NaN means unknown.
struct Cost {
  double flops = 0;
  /// Bytes read from and written to memory.
  double bytes = 0;
  /// Point-to-point sends and collective calls.
  double messages = 0;

  static Cost unknown();
  Cost& operator+=(const Cost& other);
};

/// The part of a node that does not depend on its scalar types.
class AnyOperatorNode {
 public:
  /// Structure that the algebra uses to simplify expressions.
  enum class Structure : std::uint8_t { general, zero, identity };

  AnyOperatorNode(std::string name, Layout domain, Layout range, DType domain_type,
                  DType range_type)
      : name_(std::move(name)),
        domain_(std::move(domain)),
        range_(std::move(range)),
        domain_type_(domain_type),
        range_type_(range_type) {}
  AnyOperatorNode(const AnyOperatorNode&) = delete;
  AnyOperatorNode& operator=(const AnyOperatorNode&) = delete;
  virtual ~AnyOperatorNode() = default;

  const std::string& name() const { return name_; }
  const Layout& domain() const { return domain_; }
  const Layout& range() const { return range_; }
  DType domain_type() const { return domain_type_; }
  DType range_type() const { return range_type_; }

  /// The operands of this operator in the expression tree.
  virtual std::vector<const AnyOperatorNode*> children() const { return {}; }
  /// Cost of one forward on this rank. By default the sum over the children, or unknown if there
  /// are none.
  virtual Cost cost() const;
  /// Cost of one adjoint. By default the sum over the children, or cost() if there are none.
  virtual Cost adjoint_cost() const;
  /// Whether it can be captured in a CUDA graph: it neither synchronizes with the device nor reads
  /// values back. By default whether all children can. The same on all ranks.
  virtual bool capturable() const;
  /// Whether A (c x) = c A x also holds for complex c. By default whether domain and range are
  /// complex and all children are complex-linear. The same on all ranks.
  virtual bool is_complex_linear() const;
  virtual Structure structure() const { return Structure::general; }

 private:
  std::string name_;
  Layout domain_;
  Layout range_;
  DType domain_type_;
  DType range_type_;
};

template <Scalar D, Scalar R>
class LinearOperator;

/// The implementation of an operator: derive from this class to add one. Nodes are immutable except
/// for workspaces, which constructors allocate, so that forward and adjoint allocate nothing.
template <Scalar D, Scalar R = D>
class OperatorNode : public AnyOperatorNode {
 public:
  using Handle = LinearOperator<D, R>;

  OperatorNode(std::string name, Layout domain, Layout range)
      : AnyOperatorNode(std::move(name), std::move(domain), std::move(range), dtype_of<D>,
                        dtype_of<R>) {}

  /// y = alpha A x + beta y. LinearOperator has checked layouts, and that x and y do not overlap.
  /// Does not synchronize with the device.
  virtual void forward(const ConstArrayView<D>& x, const ArrayView<R>& y,
                       Update<R> update) const = 0;
  /// x = alpha Aᴴ y + beta x, where Re<A x, y> = Re<x, Aᴴ y>.
  virtual void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x,
                       Update<D> update) const = 0;
  /// AᴴA if it has a simpler form than the product of adjoint and operator.
  virtual std::optional<LinearOperator<D, D>> normal() const;
};

}  // namespace weft

/// Expands M(D, R) for every pair of domain and range scalars: equal ones, and real with complex of
/// the same precision.
#define WEFT_FOR_EACH_OPERATOR(M)               \
  M(float, float)                               \
  M(double, double)                             \
  M(std::complex<float>, std::complex<float>)   \
  M(std::complex<double>, std::complex<double>) \
  M(float, std::complex<float>)                 \
  M(double, std::complex<double>)               \
  M(std::complex<float>, float)                 \
  M(std::complex<double>, double)

/// Expands M(D, R) for the pairs of scalars of different precision. Operators, the functions of
/// operator_algebra.hpp, todense and dot_test are instantiated for these too.
#define WEFT_FOR_EACH_MIXED_OPERATOR(M)        \
  M(float, double)                             \
  M(double, float)                             \
  M(std::complex<float>, std::complex<double>) \
  M(std::complex<double>, std::complex<float>) \
  M(float, std::complex<double>)               \
  M(double, std::complex<float>)               \
  M(std::complex<float>, double)               \
  M(std::complex<double>, float)
