#include "faults/chaos/plan.hpp"

#include "core/hash.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace weft::chaos {
namespace {

constexpr std::array<std::string_view, actions> names = {
    "none", "throw",     "sleep",       "return",     "abort",      "exit", "quit",
    "stop", "no_memory", "other_count", "other_root", "other_kind", "drop"};

Step random_step(Random& random, int ranks) {
  Step step;
  // Nonblocking calls more often.
  constexpr int first_begun = static_cast<int>(StepKind::begin_allreduce);
  step.kind = static_cast<StepKind>(random.below(3) == 0 ? first_begun + random.below(4)
                                                         : random.below(step_kinds));
  // From data that fits a slot to data that takes a while to add.
  const int size = random.below(4);
  step.count = size == 0 ? 1 + random.below(8) : 1 + random.below(size == 3 ? 20'000 : 500);
  step.root = random.below(ranks);
  step.salt = random.below(1000);
  return step;
}

}  // namespace

bool disagrees(Action action) {
  return action == Action::other_count || action == Action::other_root ||
         action == Action::other_kind;
}

std::uint64_t Random::next() {
  state_ += detail::golden_ratio_bits;
  return detail::mix_bits(state_);
}

std::string_view to_string(Action action) { return names.at(static_cast<std::size_t>(action)); }

std::optional<Action> action_named(std::string_view name) {
  const auto* const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Action>(found - names.begin());
}

Plan make_plan(std::uint64_t seed, int ranks, bool mpi, const std::vector<Action>& allowed) {
  Random random(seed * 1000003 + static_cast<std::uint64_t>(ranks));
  Plan plan;
  plan.seed = seed;
  plan.ranks = ranks;
  plan.checking = random.below(2) == 0;
  plan.action = allowed[static_cast<std::size_t>(random.below(static_cast<int>(allowed.size())))];
  plan.culprit = random.below(ranks);
  const int steps = 5 + random.below(40);
  for (int i = 0; i < steps; ++i) plan.steps.push_back(random_step(random, ranks));
  plan.fault_step = random.below(steps);
  plan.variation = random.below(1000);
  if (plan.fault_step > 0 && random.below(2) == 0) {  // a call that has just begun
    plan.steps[static_cast<std::size_t>(plan.fault_step) - 1].kind =
        static_cast<StepKind>(static_cast<int>(StepKind::begin_allreduce) + random.below(4));
  }
  Step& step = plan.steps[static_cast<std::size_t>(plan.fault_step)];
  if (disagrees(plan.action)) {
    plan.checking = plan.checking || mpi;
    step.kind = plan.action == Action::other_root
                    ? std::array{StepKind::broadcast, StepKind::reduce,
                                 StepKind::gather}[static_cast<std::size_t>(random.below(3))]
                    : static_cast<StepKind>(random.below(1 + static_cast<int>(StepKind::gather)));
    if (plan.action == Action::other_count && step.kind == StepKind::barrier) {
      step.kind = StepKind::allreduce;
    }
  }
  return plan;
}

std::string reason_of(const Plan& plan) {
  return fmt::format("chaos {} of seed {}", to_string(plan.action), plan.seed);
}

}  // namespace weft::chaos
