#include <weft/op/algebra/kronecker.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/transpose_axes.hpp>
#include <weft/op/basic/zero.hpp>

#include "array/plan_agreement.hpp"

#include <fmt/core.h>

namespace weft {
namespace {

/// The row at `index` of a matrix of rows of `layout`.
template <class View>
View row_of(const View& matrix, const Layout& layout, index_t index) {
  const index_t n = layout.local_count();
  return View(layout, matrix.data() + index * n, n);
}

/// Applies A to every row of this rank's part of a matrix.
template <Scalar D, Scalar R>
class EveryRow final : public OperatorNode<D, R> {
 public:
  EveryRow(const Layout& domain, const Layout& range, const LinearOperator<D, R>& a)
      : OperatorNode<D, R>("every row", domain, range), a_(a), rows_(domain.box().shape[0]) {}

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    for (index_t i = 0; i < rows_; ++i) {
      a_.forward(row_of(x, a_.domain(), i), row_of(y, a_.range(), i), update);
    }
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    for (index_t i = 0; i < rows_; ++i) {
      a_.adjoint(row_of(y, a_.range(), i), row_of(x, a_.domain(), i), update);
    }
  }
  std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }
  Cost cost() const override { return times(a_.cost()); }
  Cost adjoint_cost() const override { return times(a_.adjoint_cost()); }

 private:
  Cost times(const Cost& once) const {
    const auto n = static_cast<double>(rows_);
    return {n * once.flops, n * once.bytes, n * once.messages};
  }

  LinearOperator<D, R> a_;
  index_t rows_;
};

/// Between matrices whose rows are distributed alike.
template <Scalar D, Scalar R>
LinearOperator<D, R> every_row(const Layout& domain, const Layout& range,
                               const LinearOperator<D, R>& a) {
  if (a.is_zero()) return zero<D, R>(domain, range);
  if constexpr (std::same_as<D, R>) {
    if (a.is_identity()) return identity<D>(domain);
  }
  return make_operator<EveryRow<D, R>>(domain, range, a);
}

void check_factor(const AnyOperatorNode& node, Device device) {
  for (const Layout* layout : {&node.domain(), &node.range()}) {
    require(layout->comm().size() == 1,
            "kronecker: {} is on {}, but both factors must be on local layouts", node.name(),
            to_string(*layout));
    require(layout->device() == device,
            "kronecker: {} is on {}, but the domain of the first "
            "factor is on {}",
            node.name(), to_string(layout->device()), to_string(device));
  }
}

}  // namespace

template <Scalar D, Scalar E, Scalar R>
LinearOperator<D, R> kronecker(const LinearOperator<E, R>& a, const LinearOperator<D, E>& b,
                               const KroneckerOptions& options) {
  const Device device = a.domain().device();
  const auto matrices = [&](index_t rows, index_t columns) {
    const Shape shape{rows, columns};
    return (options.over ? Layout::scatter(*options.over, shape) : Layout::local(shape)).on(device);
  };
  const index_t n = a.domain().count();
  const index_t columns = b.range().count();
  const Layout domain = matrices(n, b.domain().count());
  const Layout between = matrices(n, columns);
  // Columns are the rows of the transposed matrix.
  const Layout transposed = matrices(columns, n);
  const Layout result = matrices(columns, a.range().count());
  detail::agree_on_plan(
      "kronecker", {&domain, &between, &result}, dtype_of<E>,
      fmt::format("second factor from {} to {}", to_string(b.domain()), to_string(b.range())));
  check_factor(*a.node(), device);
  check_factor(*b.node(), device);

  auto rows = every_row(domain, between, b);
  if constexpr (std::same_as<E, R>) {
    if (a.is_identity() && !options.over) return rows;
  }
  return transpose_axes<R>(result, {1, 0}) * every_row(transposed, result, a) *
         transpose_axes<E>(between, {1, 0}, {.range = transposed}) * rows;
}

#define INSTANTIATE(D, E, R)                                           \
  template LinearOperator<D, R> kronecker(const LinearOperator<E, R>&, \
                                          const LinearOperator<D, E>&, const KroneckerOptions&);
#define INSTANTIATE_PRECISION(F)                   \
  INSTANTIATE(F, F, F)                             \
  INSTANTIATE(F, F, std::complex<F>)               \
  INSTANTIATE(F, std::complex<F>, F)               \
  INSTANTIATE(F, std::complex<F>, std::complex<F>) \
  INSTANTIATE(std::complex<F>, F, F)               \
  INSTANTIATE(std::complex<F>, F, std::complex<F>) \
  INSTANTIATE(std::complex<F>, std::complex<F>, F) \
  INSTANTIATE(std::complex<F>, std::complex<F>, std::complex<F>)
INSTANTIATE_PRECISION(float)
INSTANTIATE_PRECISION(double)
#undef INSTANTIATE_PRECISION
#undef INSTANTIATE

}  // namespace weft
