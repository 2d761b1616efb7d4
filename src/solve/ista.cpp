#include <weft/solve/ista.hpp>

#include <weft/core/error.hpp>

#include "core/option_checks.hpp"
#include "solve/problem.hpp"
#include "solve/proximal_gradient.hpp"

#include <cmath>

namespace weft {
namespace {

bool is_valid_weight(double value) { return std::isfinite(value) && value >= 0; }

template <Scalar D>
void check_options(const char* name, const IstaOptions<D>& options, const Layout& domain) {
  require(is_valid_weight(options.eps), "{}: eps = {}; use 0 for no penalty, or a positive number",
          name, options.eps);
  detail::require_enumerator(options.threshold, Threshold::half, name, "Threshold");
  if (options.step) {
    require(std::isfinite(*options.step) && *options.step > 0,
            "{}: step = {}; use a positive number, or leave it out to have it estimated", name,
            *options.step);
  }
  for (std::size_t k = 0; k < options.decay.size(); ++k) {
    require(is_valid_weight(options.decay[k]), "{}: decay[{}] = {}; use 0 or positive numbers",
            name, k, options.decay[k]);
  }
  if (!options.sparsifier) return;
  const LinearOperator<D>& s = *options.sparsifier;
  if (!(s.domain() == domain)) {
    refuse("{}: {}", name,
           detail::difference("the operator takes", domain, "the sparsifier takes", s.domain()));
  }
  require(
      s.range().device() == domain.device(),
      "{}: the sparsifier takes arrays on {} and returns them on {}; both must be on one device",
      name, to_string(domain.device()), to_string(s.range().device()));
}

template <Scalar D, Scalar R>
bool is_capturable(const LinearOperator<D, R>& a, const IstaOptions<D>& options) {
  // Backtracking blocks on the device, and decay changes the threshold, an argument of kernels.
  const bool iterations_are_alike = !options.backtracking && options.decay.empty();
  return iterations_are_alike && a.capturable() &&
         (!options.sparsifier || options.sparsifier->capturable());
}

}  // namespace

template <Scalar D, Scalar R>
ProximalGradient<D, R>::ProximalGradient(const char* name, Momentum momentum,
                                         const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                         const SolverOptions& options,
                                         const IstaOptions<D>& ista_options)
    : Solver<D>(name, a.domain(), a.range(), ista_options.x0, options,
                is_capturable(a, ista_options)) {
  detail::check_problem(name, a, y);
  check_options(name, ista_options, a.domain());
  this->start(std::make_unique<detail::ProximalGradientRecurrence<D, R>>(
      *this, a, y, momentum == Momentum::nesterov, ista_options));
}

template <Scalar D, Scalar R>
const std::vector<double>& ProximalGradient<D, R>::objective() const {
  using Recurrence = detail::ProximalGradientRecurrence<D, R>;
  return static_cast<const Recurrence&>(this->recurrence()).objective;
}

template <Scalar D, Scalar R>
double ProximalGradient<D, R>::step_length() const {
  using Recurrence = detail::ProximalGradientRecurrence<D, R>;
  return static_cast<const Recurrence&>(this->recurrence()).step;
}

template <Scalar D, Scalar R>
Solution<D> ista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options, const IstaOptions<D>& ista_options) {
  Ista<D, R> solver(a, y, options, ista_options);
  solver.run();
  return std::move(solver).solution();
}

template <Scalar D, Scalar R>
Solution<D> fista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                  const SolverOptions& options, const IstaOptions<D>& ista_options) {
  Fista<D, R> solver(a, y, options, ista_options);
  solver.run();
  return std::move(solver).solution();
}

#define INSTANTIATE(D, R)                                                           \
  template class ProximalGradient<D, R>;                                            \
  template Solution<D> ista(const LinearOperator<D, R>&, const ConstArrayView<R>&,  \
                            const SolverOptions&, const IstaOptions<D>&);           \
  template Solution<D> fista(const LinearOperator<D, R>&, const ConstArrayView<R>&, \
                             const SolverOptions&, const IstaOptions<D>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
