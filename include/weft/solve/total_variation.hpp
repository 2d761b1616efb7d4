#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/solve/solver.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace weft {

enum class TotalVariationNorm : std::uint8_t {
  isotropic,    // the sum over points of the length of the gradient
  anisotropic,  // the sum over points and axes of the absolute values of its components
};

namespace detail {
inline GradientOptions forward_differences() {
  GradientOptions options;
  options.kind = DerivativeKind::forward;
  return options;
}
}  // namespace detail

template <Scalar D>
struct TotalVariationOptions {
  /// Weight of TV(x).
  double mu = 1;
  /// Penalty parameter of ADMM, which couples the gradient of x to its copy z. Affects the speed of
  /// convergence, not the solution: a larger rho reduces the primal residual faster, a smaller one
  /// the dual residual. Good values are one to a few times mu divided by the expected jumps.
  double rho = 1;
  /// Steps of conjugate gradients for x in each iteration. A few suffice, since they start from the
  /// last x.
  index_t inner_iterations = 5;
  TotalVariationNorm norm = TotalVariationNorm::isotropic;
  /// Forward differences detect every jump; centered differences do not detect alternating values.
  GradientOptions gradient = detail::forward_differences();
  /// The first iterate; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
};

/// Minimises 1/2 |y - A x|² + mu TV(x), which favours piecewise constant models, by ADMM (split
/// Bregman): alternately solves for x, with its gradient G x close to a copy z, and for a sparse z.
/// x must be a single array, not a stack.
///
/// Stops when an iteration changes x by at most the tolerance, which is relative to |x|. Both norms
/// converge to 0 and measure the distance from the minimum: `residual_norm` is the primal residual
/// |G x - z|, `gradient_norm` the dual residual |Aᴴ(y - A x) - rho Gᴴu|, where rho u is a
/// subgradient of mu TV at z.
///
/// Each iteration applies A and its adjoint inner_iterations times.
template <Scalar D, Scalar R>
class TotalVariation final : public Solver<D> {
 public:
  /// Copies y, unless it is moved in.
  TotalVariation(const LinearOperator<D, R>& a, DistributedArray<R> y,
                 const SolverOptions& options = {},
                 const TotalVariationOptions<D>& total_variation_options = {})
      : TotalVariation(a, ConstArrayView<R>(std::move(y)), options, total_variation_options) {}
  /// Reads y through the view; its memory must outlive the solver.
  TotalVariation(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options = {},
                 const TotalVariationOptions<D>& total_variation_options = {});
};

/// Runs TotalVariation until it stops.
template <Scalar D, Scalar R>
Solution<D> total_variation(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                            const SolverOptions& options = {},
                            const TotalVariationOptions<D>& total_variation_options = {});

}  // namespace weft
