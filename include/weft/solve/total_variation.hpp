#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/solve/solver.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace weft {

enum class TotalVariationNorm : std::uint8_t {
  isotropic,    // sum over points of the length of the gradient
  anisotropic,  // sum over points and axes of its components' absolute values
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
  /// Of 1/2 |y - A x|² + mu TV(x), which is made small.
  double mu = 1;
  /// How strongly the gradient of x is held to its copy z (see below). Changes how fast the solver
  /// converges and nothing else: a larger one makes the primal residual fall faster, a smaller one
  /// the dual. Good ones are about mu by the jumps to be found, or a few times that.
  double rho = 1;
  /// Steps of conjugate gradients for x in each iteration: a few are enough, as x has a good start.
  index_t inner_iterations = 5;
  TotalVariationNorm norm = TotalVariationNorm::isotropic;
  /// Forward differences see every jump; centered ones do not see values that alternate.
  GradientOptions gradient = detail::forward_differences();
  /// Where to start; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
};

/// Makes 1/2 |y - A x|² + mu TV(x) small, which prefers models of a few flat pieces. By the method
/// of multipliers (ADMM, or split Bregman): x is found so that its gradient G x comes close to a
/// copy z, and z so that it is sparse, in turn. Works on one array, not on a stack.
///
/// Stops when an iteration changes x by at most the tolerance, which is relative to |x|. The norms
/// tell how far that is from the minimum, and go to 0 together: `residual_norm` is the primal
/// residual |G x - z|, `gradient_norm` the dual one, |Aᴴ(y - A x) - rho Gᴴu|, where rho u is a
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
  ~TotalVariation() override;

 private:
  struct State;
  using typename AnySolver::Check;
  using typename AnySolver::Norms;

  void iterate(int parity) override;
  Check evaluate() override;
  Norms true_norms() override;
  void tell_problem();
  void visit_own_state(StateVisitor& visitor) override;

  /// One step of conjugate gradients for x; after the last, there is no next direction. The bank is
  /// where the numbers of a step are.
  void step_x(int bank, bool is_last);
  /// Brings z and u up to date with x, and begins to look for the next x.
  void update_multiplier(int bank);

  std::unique_ptr<State> state_;
};

/// Runs TotalVariation until it stops.
template <Scalar D, Scalar R>
Solution<D> total_variation(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                            const SolverOptions& options = {},
                            const TotalVariationOptions<D>& total_variation_options = {});

}  // namespace weft
