#pragma once

// What the solvers of A x = y share: checks of their arguments, and the final norms.

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>
#include <weft/op/linear_operator.hpp>

#include "op/checks.hpp"

#include <optional>
#include <utility>

namespace weft::detail {

/// Throws unless y has the layout of the operator's range, and all arrays are on one device.
template <Scalar D, Scalar R>
void check_problem(const char* solver, const LinearOperator<D, R>& a, const ConstArrayView<R>& y) {
  if (!(y.layout() == a.range())) {
    refuse("{}: {}", solver, difference("the operator returns", a.range(), "y is", y.layout()));
  }
  require(a.domain().device() == a.range().device(),
          "{}: the operator takes arrays on {} and returns them on {}; both must be on one device",
          solver, to_string(a.domain().device()), to_string(a.range().device()));
}

/// Throws if there is a preconditioner that does not map the operator's domain to itself.
template <Scalar D>
void check_preconditioner(const char* solver, const std::optional<LinearOperator<D>>& m,
                          const Layout& domain) {
  if (!m) return;
  for (const Layout& side : {m->domain(), m->range()}) {
    if (side == domain) continue;
    refuse("{}: {}; it must map the operator's domain to itself", solver,
           difference("the operator takes", domain, "the preconditioner is for", side));
  }
}

/// |y - A x| and |Aᴴ(y - A x) - damp² x|. Uses q and s as scratch. Collective.
template <Scalar D, Scalar R>
std::pair<double, double> least_squares_norms(const LinearOperator<D, R>& a,
                                              const ConstArrayView<R>& y, double damp,
                                              const ConstArrayView<D>& x, DistributedArray<R>& q,
                                              DistributedArray<D>& s) {
  copy(y, q);
  a.forward(x, q, {-1, 1});
  a.adjoint(q, s);
  axpy(static_cast<Real<D>>(-damp * damp), x, s);
  return {norm(q), norm(s)};
}

}  // namespace weft::detail
