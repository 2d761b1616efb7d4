#include <weft/solve/solver.hpp>

#include <weft/core/error.hpp>
#include <weft/solve/recurrence.hpp>

#include "op/checks.hpp"
#include "solve/checkpoint.hpp"
#include "solve/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {
namespace {

void check_options(const std::string& name, const SolverOptions& options) {
  require(options.max_iterations >= 1, "{}: max_iterations = {}; allow at least one", name,
          options.max_iterations);
  require(options.check_every >= 1,
          "{}: check_every = {}; use 1 to check the norms after each iteration, or more", name,
          options.check_every);
  // Comparisons with NaN are false.
  require(options.relative_tolerance >= 0,
          "{}: relative_tolerance = {}; use 0 for none, or a positive number", name,
          options.relative_tolerance);
  require(options.absolute_tolerance >= 0,
          "{}: absolute_tolerance = {}; use 0 for none, or a positive number", name,
          options.absolute_tolerance);
  require(options.time_limit >= 0, "{}: time_limit = {}; use a number of seconds, or infinity",
          name, options.time_limit);
}

/// The capacity to reserve for the history: all of it, up to a limit.
std::size_t expected_checks(const SolverOptions& options) {
  constexpr index_t limit = 1 << 18;
  return static_cast<std::size_t>(
      std::min(limit, options.max_iterations / options.check_every + 2));
}

/// True if kernels on this device and messages on this communicator can be recorded in a graph.
bool can_record(const Comm& comm, Device device) {
  return device.kind == DeviceKind::cuda && comm.route(device).capturable;
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::running: return "running";
    case StopReason::converged: return "converged";
    case StopReason::iteration_limit: return "iteration limit";
    case StopReason::time_limit: return "time limit";
    case StopReason::stopped_by_callback: return "stopped by callback";
    case StopReason::condition_limit: return "condition limit";
    case StopReason::breakdown: return "breakdown";
    case StopReason::not_finite: return "not finite";
  }
  return "unknown";
}

AnySolver::AnySolver(std::string name, const Layout& domain, const Layout& range,
                     const SolverOptions& options, bool capturable)
    : name_(std::move(name)),
      comm_(domain.comm()),
      device_(domain.device()),
      has_groups_(domain.is_within_groups() || range.is_within_groups()),
      options_(options),
      start_(std::chrono::steady_clock::now()),
      records_(capturable && !has_groups_ && can_record(comm_, device_)) {
  check_options(name_, options);
  history_.reserve(expected_checks(options));
  if (options.progress && comm_.rank() == 0) {
    progress_ = std::make_unique<detail::Progress>(name_, options.max_iterations);
  }
  if (options.checkpoint) {
    checkpoint_ =
        std::make_unique<detail::Checkpoint>(name_, comm_, *options.checkpoint, has_groups_);
  }
}

AnySolver::~AnySolver() = default;

double AnySolver::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void AnySolver::start(std::unique_ptr<AnyRecurrence> recurrence) {
  recurrence_ = std::move(recurrence);
  if (!resume()) check();
}

bool AnySolver::resume() {
  if (!checkpoint_) return false;
  const auto resumed = checkpoint_->begin(*this);
  if (!resumed) return false;
  history_.assign(resumed->history.begin(), resumed->history.end());
  if (progress_) progress_->resume_from(iteration_, seconds());
  if (resumed->is_repartitioned) recurrence_->restore_partial_sums();
  // The history contains this check already, but the options may have changed.
  decide(recurrence_->evaluate());
  if (reason_ != StopReason::running) checkpoint_->release();
  if (progress_ && reason_ != StopReason::running) progress_->finish(history_.back(), message_);
  return true;
}

bool AnySolver::step() {
  if (reason_ != StopReason::running) return false;
  const int parity = static_cast<int>(iteration_ % 2);
  if (records_ && warmed_up_ && recorded_.empty()) record();
  if (recorded_.empty()) {
    recurrence_->iterate(parity);
    warmed_up_ = true;
  } else {
    recorded_[static_cast<std::size_t>(parity)].launch();
  }
  ++iteration_;
  if (iteration_ % options_.check_every == 0 || iteration_ == options_.max_iterations) check();
  return reason_ == StopReason::running;
}

void AnySolver::record() {
  for (const int parity : {0, 1}) {
    recorded_.push_back(Graph::capture(device_, [this, parity] { recurrence_->iterate(parity); }));
  }
}

void AnySolver::run() {
  while (step()) {
  }
}

void AnySolver::check() {
  SolverCheck check = recurrence_->evaluate();
  const SolverStatus status{iteration_, check.residual_norm, check.gradient_norm, seconds()};
  history_.push_back(status);
  if (has_groups_) agree_between_groups(check);
  decide(std::move(check));
  agree_on_stop(status);
  if (checkpoint_) checkpoint_->after_check(*this);
  if (!progress_) return;
  if (reason_ == StopReason::running) {
    progress_->show(status);
  } else {
    progress_->finish(status, message_);
  }
}

void AnySolver::agree_between_groups(SolverCheck& check) const {
  // Sums differ between groups, at least in rounding. Operators may be collective over all ranks,
  // so all groups must stop together.
  std::array<std::int32_t, 2> all = {check.converged ? 0 : 1,
                                     static_cast<std::int32_t>(check.failure)};
  comm_.allreduce(all, ReduceOp::max);
  check.converged = all[0] == 0;
  const auto failure = static_cast<StopReason>(all[1]);
  if (failure == check.failure) return;
  check.failure = failure;
  check.message =
      fmt::format("{} in iteration {}, in another group of ranks", to_string(failure), iteration_);
}

void AnySolver::decide(SolverCheck check) {
  if (check.failure != StopReason::running) {
    stop(check.failure, std::move(check.message));
  } else if (check.converged && !check.message.empty()) {
    stop(StopReason::converged, std::move(check.message));
  } else if (check.converged) {
    stop(StopReason::converged,
         fmt::format("converged in iteration {} with |r| = {:.3e}, |g| = {:.3e}", iteration_,
                     check.residual_norm, check.gradient_norm));
  } else if (iteration_ >= options_.max_iterations) {
    stop(StopReason::iteration_limit,
         fmt::format("not converged in {} iterations: |r| = {:.3e}, |g| = {:.3e}", iteration_,
                     check.residual_norm, check.gradient_norm));
  }
}

void AnySolver::agree_on_stop(const SolverStatus& status) {
  if (iteration_ == 0) return;
  // Norms, and so the outcome of decide(), are the same on all ranks. Callbacks and clocks are not.
  std::array<std::int32_t, 2> stops{};
  if (options_.callback && !options_.callback(status)) stops[0] = 1;
  if (status.seconds >= options_.time_limit) stops[1] = 1;
  const bool is_decided = reason_ != StopReason::running;
  if (is_decided || (!options_.callback && std::isinf(options_.time_limit))) return;
  if (comm_.size() > 1) comm_.allreduce(stops, ReduceOp::max);
  if (stops[0] != 0) {
    stop(StopReason::stopped_by_callback,
         fmt::format("stopped by the callback in iteration {}", iteration_));
  } else if (stops[1] != 0) {
    stop(StopReason::time_limit, fmt::format("stopped in iteration {} by the time limit of {:g} s",
                                             iteration_, options_.time_limit));
  }
}

void AnySolver::stop(StopReason reason, std::string message) {
  reason_ = reason;
  message_ = std::move(message);
}

void AnySolver::visit_state(StateVisitor& visitor) {
  const index_t before = iteration_;
  visitor.visit("iteration", iteration_);
  if (progress_ && iteration_ != before) progress_->resume_from(iteration_, seconds());
  recurrence_->visit_state(visitor);
}

template <Scalar D>
Solver<D>::Solver(const std::string& name, const Layout& domain, const Layout& range,
                  const std::optional<ConstArrayView<D>>& x0, const SolverOptions& options,
                  bool capturable)
    : AnySolver(name, domain, range, options, capturable),
      x_(x0 ? x0->copy() : DistributedArray<D>(domain)) {
  if (!(x_.layout() == domain)) {
    refuse("{}: {}", name, detail::difference("the operator takes", domain, "x0 is", x_.layout()));
  }
}

template <Scalar D>
Solution<D> Solver<D>::solution() & {
  const SolverNorms norms = recurrence().true_norms();
  return make_solution(x_, norms.residual, norms.gradient);
}

template <Scalar D>
Solution<D> Solver<D>::solution() && {
  const SolverNorms norms = recurrence().true_norms();
  return make_solution(std::move(x_), norms.residual, norms.gradient);
}

template <Scalar D>
Solution<D> Solver<D>::make_solution(DistributedArray<D> x, double residual_norm,
                                     double gradient_norm) const {
  return {.x = std::move(x),
          .reason = stop_reason(),
          .message = message(),
          .iterations = iteration(),
          .residual_norm = residual_norm,
          .gradient_norm = gradient_norm,
          .history = history(),
          .seconds = seconds()};
}

#define INSTANTIATE(D) template class Solver<D>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
