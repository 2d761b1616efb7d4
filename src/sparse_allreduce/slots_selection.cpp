#include "sparse_allreduce/slots_selection.hpp"

#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/selectors.hpp"
#include "sparse_allreduce/slots.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft::detail {
namespace {

kernels::Candidates all_elements(const SparseContext& context) {
  return {context.types.work(), context.n, context.state.residual.data(), nullptr};
}

/// Lists in `list` what accumulate_by_rule() has found, *count elements.
void list_found(SparseContext& context, const kernels::SelectionRule* rule, bool take,
                ListMemory& memory, index_t* count) {
  const kernels::Staging staged = staging_of(context);
  run_on(context, [&](auto tag) {
    kernels::count_staged(tag, context.n, staged, count);
    kernels::collect(tag, context.types.work(), context.n, context.state.residual.data(), take,
                     rule, staged, memory.list, count);
  });
}

/// Moves the k largest elements of `from` to context.picked; *rule becomes their rule.
void take_largest_of(SparseContext& context, const kernels::Candidates& from,
                     kernels::SelectionRule* rule, index_t* count) {
  index_t* tallies = tallies_for(context, context.n);
  run_on(context, [&](auto tag) {
    kernels::find_rule(tag, from, context.k, rule, context.histogram.data());
    kernels::select(tag, from, 0, rule, tallies, context.picked.list, count,
                    context.state.residual.data());
  });
}

/// One pass lists somewhat more than k elements, if the sample is representative; the k largest of
/// these are the result. Otherwise all elements are looked at: of one of list and array, there are
/// no elements.
void take_largest_by_sample(SparseContext& context) {
  SparseControl* control = context.control.data();
  kernels::CallControl* call = &control->call;
  find_sampled_rule(context, 1.25 * static_cast<double>(context.k) + 1000);
  accumulate_by_rule(context, &control->rule, false);
  list_found(context, &control->rule, false, context.other, &call->sampled);
  const index_t room = context.other.list.capacity;
  run_on(context,
         [&](auto tag) { kernels::choose_candidates(tag, context.k, room, context.n, call); });
  const kernels::SelectedList& list = context.other.list;
  take_largest_of(context, {context.types.work(), {room, &call->of_list}, list.value, list.index},
                  &control->list_rule, &call->from_list);
  kernels::Candidates others = all_elements(context);
  others.range = call->of_array;
  take_largest_of(context, others, &control->rule, &call->picked);
  run_on(context, [&](auto tag) {
    kernels::join_selections(tag, &control->list_rule, call, &control->rule);
  });
}

void remember_threshold(SparseContext& context) {
  SparseControl* control = context.control.data();
  run_on(context, [&](auto tag) {
    kernels::threshold_of_rule(tag, context.types.work(), &control->rule,
                               &control->call.local_threshold);
  });
}

/// Exact, and remembers the k-th magnitude.
void select_exact_and_remember_on_device(SparseContext& context) {
  select_exact_in_slots(context);
  remember_threshold(context);
  context.state.local_threshold = 0;  // there is one, on the device
  context.report.exact_local = true;
}

bool is_exact_due_in_slots(const SparseContext& context) {
  return is_time(context, context.options.oktopk.local_period) || context.state.local_threshold < 0;
}

void use_local_threshold(SparseContext& context) {
  SparseControl* control = context.control.data();
  run_on(context, [&](auto tag) {
    kernels::rule_of_threshold(tag, context.types.work(), &control->call.local_threshold,
                               &control->rule);
  });
}

void select_by(SparseContext& context, const kernels::SelectionRule* rule) {
  accumulate_by_rule(context, rule, true);
  list_found(context, rule, true, context.picked, &context.control.data()->call.picked);
}

void select_from_threshold(SparseContext& context) {
  select_by(context, &context.control.data()->call.local_rule);
}

/// In one kernel instead of nine.
void raise_short_list(SparseContext& context, index_t most) {
  const OktopkConstants& c = context.options.oktopk;
  kernels::CallControl* call = &context.control.data()->call;
  kernels::Raising work;
  work.work = context.types.work();
  work.list = context.picked.list;
  work.count = context.picked.size();
  work.most = most;
  work.steps = c.raise_steps;
  work.factor = c.raise_factor;
  work.threshold = &call->local_threshold;
  work.residual = context.state.residual.data();
  work.kept = context.other.list;
  work.kept_count = &call->raised;
  run_on(context, [&](auto tag) { kernels::raise_short(tag, work); });
  std::swap(context.picked, context.other);
  context.picked.counter = &call->raised;
}

/// Raises the threshold while too many are selected; what no longer reaches it is put back.
void raise_threshold_on_device(SparseContext& context) {
  const OktopkConstants& c = context.options.oktopk;
  if (c.raise_steps == 0) return;
  const auto most = static_cast<index_t>(c.raise_above * static_cast<double>(context.k));
  SparseControl* control = context.control.data();
  const kernels::SelectedList all = context.picked.list;
  const kernels::Count count = context.picked.size();
  if (count.most <= kernels::longest_short_list) return raise_short_list(context, most);
  run_on(context, [&](auto tag) {
    kernels::raise_threshold(tag, context.types.work(), all, count, most, c.raise_steps,
                             c.raise_factor, &control->call.local_threshold);
  });
  use_local_threshold(context);
  const kernels::Candidates from = {context.types.work(), count, all.value, all.index};
  index_t* tallies = tallies_for(context, context.n);
  void* residual = context.state.residual.data();
  run_on(context, [&](auto tag) {
    kernels::put_back(tag, context.types.work(), all, count, residual);
    kernels::select(tag, from, 0, &control->rule, tallies, context.other.list,
                    &control->call.raised, residual);
  });
  std::swap(context.picked, context.other);
  context.picked.counter = &control->call.raised;
}

}  // namespace

void accumulate_in_slots(SparseContext& context) {
  constexpr kernels::SelectionRule nothing = {std::numeric_limits<std::uint64_t>::max(), 0};
  kernels::SelectionRule* rule = &context.control.data()->rule;
  run_on(context, [&](auto tag) { kernels::set_rule(tag, nothing, rule); });
  accumulate_by_rule(context, rule, false);
}

index_t room_of_lists(const SparseContext& context, int ranks) {
  const index_t in_slots =
      std::max(ranks * slot_capacity(context, ranks), slot_capacity(context, 1));
  return std::min(context.n, std::max(4 * in_slots, 2 * context.k + 2000));
}

void select_in_slots(SparseContext& context) {
  const PhaseTimer timer(context, select_phase);
  if (context.selector->select_in_slots != nullptr) {
    return context.selector->select_in_slots(context);
  }
  context.selector->select(context);
  kernels::CallControl* call = &context.control.data()->call;
  run_on(context, [&](auto tag) { kernels::set_count(tag, context.picked.count, &call->picked); });
  write_to(context, &call->local_threshold, context.state.local_threshold);
}

void select_exact_in_slots(SparseContext& context) {
  if (can_sample(context, context.k)) return take_largest_by_sample(context);
  accumulate_in_slots(context);
  SparseControl* control = context.control.data();
  take_largest_of(context, all_elements(context), &control->rule, &control->call.picked);
}

void select_periodic_in_slots(SparseContext& context) {
  if (is_exact_due_in_slots(context)) return select_exact_and_remember_on_device(context);
  select_from_threshold(context);
}

void select_reused_in_slots(SparseContext& context) {
  if (is_exact_due_in_slots(context)) {
    select_exact_and_remember_on_device(context);
  } else {
    select_from_threshold(context);
    raise_threshold_on_device(context);
  }
  const OktopkConstants& c = context.options.oktopk;
  const auto k = static_cast<double>(context.k);
  context.adapt_local = {c.local_low * k, c.local_high * k, c.local_factor, c.local_factor};
}

void select_sampled_in_slots(SparseContext& context) {
  if (!is_sampled(context)) return select_exact_in_slots(context);
  find_sampled_rule(context, static_cast<double>(context.k));
  remember_threshold(context);
  use_local_threshold(context);
  select_by(context, &context.control.data()->rule);
}

void select_chunked_in_slots(SparseContext& context) {
  accumulate_in_slots(context);
  take_chunks(context);
  run_on(context, [&](auto tag) {
    kernels::set_count(tag, context.picked.count, &context.control.data()->call.picked);
  });
}

}  // namespace weft::detail
