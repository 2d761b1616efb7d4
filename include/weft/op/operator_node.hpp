#pragma once

#include <weft/array/distributed_array.hpp>
#include <weft/core/dtype.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// How the result of an operator is put into its output: y = alpha A x + beta y. With beta = 0, y
/// is not read.
template <Scalar T>
struct Update {
  T alpha;
  T beta;

  Update(Coefficient<T> of_result = 1, Coefficient<T> of_output = 0)
      : alpha(of_result.value), beta(of_output.value) {}
  /// y = A x, and nothing else.
  bool is_plain() const { return alpha == T{1} && beta == T{}; }
};

/// What one application costs this rank; NaN where that is not known.
struct Cost {
  double flops = 0;
  /// Read and written in memory.
  double bytes = 0;
  /// Sends, and calls that all ranks make together.
  double messages = 0;

  static Cost unknown();
  Cost& operator+=(const Cost& other);
};

/// What is known of an operator whatever its types are.
class AnyOperatorNode {
 public:
  /// What the algebra simplifies.
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

  /// The operators that this one is made of.
  virtual std::vector<const AnyOperatorNode*> children() const { return {}; }
  /// Of one forward on this rank; by default that of the children, and unknown without them.
  virtual Cost cost() const;
  /// Of one adjoint; by default that of the children's, or the same as forward.
  virtual Cost adjoint_cost() const;
  /// It can be recorded in a CUDA graph: it neither waits for the device nor reads from it. By
  /// default if the children can.
  virtual bool capturable() const;
  /// A (a x) = a A x for complex a, too. By default if domain and range are complex and the
  /// children are linear in this sense.
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

/// What an operator does: the class to derive from. Nodes are immutable but for workspaces, which
/// they allocate when they are made, so that applying them allocates nothing.
template <Scalar D, Scalar R = D>
class OperatorNode : public AnyOperatorNode {
 public:
  using Handle = LinearOperator<D, R>;

  OperatorNode(std::string name, Layout domain, Layout range)
      : AnyOperatorNode(std::move(name), std::move(domain), std::move(range), dtype_of<D>,
                        dtype_of<R>) {}

  /// y = alpha A x + beta y. The caller has checked that the arrays have the right layouts and do
  /// not overlap. Waits for no device.
  virtual void forward(const ConstArrayView<D>& x, const ArrayView<R>& y,
                       Update<R> update) const = 0;
  /// x = alpha Aᴴ y + beta x, where Re<A x, y> = Re<x, Aᴴ y>.
  virtual void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x,
                       Update<D> update) const = 0;
  /// AᴴA where there is something simpler than applying the one after the other.
  virtual std::optional<LinearOperator<D, D>> normal() const;
};

}  // namespace weft

/// Expands M once per pair of scalars that operators map between: the same, or the real and the
/// complex one of the same precision.
#define WEFT_FOR_EACH_OPERATOR(M)               \
  M(float, float)                               \
  M(double, double)                             \
  M(std::complex<float>, std::complex<float>)   \
  M(std::complex<double>, std::complex<double>) \
  M(float, std::complex<float>)                 \
  M(double, std::complex<double>)               \
  M(std::complex<float>, float)                 \
  M(std::complex<double>, double)
