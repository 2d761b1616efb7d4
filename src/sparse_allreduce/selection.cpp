#include "sparse_allreduce/magnitude_keys.hpp"
#include "sparse_allreduce/selectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace weft::detail {

void reserve(SparseContext& context, ListMemory& memory, index_t count) {
  const Device device = context.device();
  memory.list.index = static_cast<index_t*>(
      memory.index.bytes(count * static_cast<index_t>(sizeof(index_t)), device));
  memory.list.value = memory.value.bytes(count * context.work_bytes(), device);
  memory.list.capacity = count;
}

index_t* tallies_for(SparseContext& context, index_t candidates) {
  const index_t count = 2 * kernels::selection_tiles(candidates);
  return static_cast<index_t*>(
      context.tallies.bytes(count * static_cast<index_t>(sizeof(index_t)), context.device()));
}

std::uint64_t key_of(const SparseContext& context, double threshold) {
  if (context.types.work() == DType::f64) return key_reaching<double>(threshold);
  return key_reaching<float>(threshold);
}

double magnitude_of_key(const SparseContext& context, std::uint64_t key) {
  if (context.types.work() == DType::f64) return magnitude_of<double>(key);
  return static_cast<double>(magnitude_of<float>(key));
}

kernels::Staging staging_of(SparseContext& context) {
  const Device device = context.device();
  const index_t chunks = kernels::selection_chunks(context.n);
  const index_t staged = chunks * kernels::staged_per_chunk;
  const auto size = static_cast<index_t>(sizeof(index_t));
  return {static_cast<index_t*>(context.staged_index.bytes(staged * size, device)),
          context.staged_value.bytes(staged * context.work_bytes(), device),
          static_cast<index_t*>(
              context.chunk_counts.bytes(kernels::selection_tiles(context.n) * size, device))};
}

namespace {

kernels::Accumulation accumulation(SparseContext& context) {
  kernels::Accumulation work;
  work.n = context.n;
  work.dtype = context.types.value;
  work.gradient = context.gradient.data;
  work.residual = context.state.residual.data();
  // Without feedback nothing of the residual is used again.
  work.decay = context.options.error_feedback ? context.options.decay : 0;
  work.rule = &context.control.data()->rule;
  work.staging = staging_of(context);
  const index_t chunks = kernels::selection_chunks(context.n);
  work.bad = static_cast<kernels::BadElements*>(context.chunk_bad.bytes(
      chunks * static_cast<index_t>(sizeof(kernels::BadElements)), context.device()));
  work.all_bad = &context.control.data()->bad;
  return work;
}

void accumulate_with(SparseContext& context, const kernels::SelectionRule& rule, bool take) {
  write_to(context, &context.control.data()->rule, rule);
  accumulate_by_rule(context, &context.control.data()->rule, take);
}

void set_picked(SparseContext& context, index_t count) {
  context.picked.count = count;
  context.report.selected = count;
}

}  // namespace

void accumulate_by_rule(SparseContext& context, const kernels::SelectionRule* rule, bool take) {
  kernels::Accumulation work = accumulation(context);
  work.rule = rule;
  work.take = take;
  run_on(context, [&](auto tag) { kernels::accumulate(tag, work); });
}

double threshold_of(SparseContext& context) {
  const auto rule = read_back(context, &context.control.data()->rule);
  return magnitude_of_key(context, rule.key);
}

namespace {

/// Elements of which one in `stride` is looked at for an estimate.
constexpr index_t sample_stride = 61;  // not a multiple of the width of usual tensors
constexpr index_t least_sampled = 1 << 16;

}  // namespace

bool is_sampled(const SparseContext& context) { return context.n >= least_sampled; }

bool can_sample(const SparseContext& context, index_t k) {
  return is_sampled(context) && k <= context.n / 16;
}

void find_sampled_rule(SparseContext& context, double wanted) {
  const index_t count = context.n / sample_stride;
  void* sampled = context.sampled.bytes(count * context.work_bytes(), context.device());
  const kernels::Accumulation work = accumulation(context);
  const auto k = static_cast<index_t>(wanted / static_cast<double>(sample_stride)) + 1;
  kernels::SelectionRule* rule = &context.control.data()->rule;
  run_on(context, [&](auto tag) {
    kernels::sample(tag, work, count, sample_stride, sampled);
    const kernels::Candidates from = {context.types.work(), count, sampled, nullptr};
    kernels::find_rule(tag, from, k, rule, context.histogram.data());
  });
}

double sampled_threshold(SparseContext& context, double wanted) {
  if (!is_sampled(context)) return 0;
  find_sampled_rule(context, wanted);
  return threshold_of(context);
}

void accumulate_only(SparseContext& context) {
  constexpr kernels::SelectionRule nothing = {std::numeric_limits<std::uint64_t>::max(), 0};
  accumulate_with(context, nothing, false);
  set_picked(context, 0);
}

index_t accumulate_and_list(SparseContext& context, double threshold, bool take, index_t most) {
  accumulate_with(context, {key_of(context, threshold)}, take);
  SparseControl* control = context.control.data();
  const kernels::Staging staged = staging_of(context);
  // The counts are known before anything is listed, so that the list is as long as needed.
  run_on(context,
         [&](auto tag) { kernels::count_staged(tag, context.n, staged, &control->count); });
  const index_t count = read_back(context, &control->count);
  const index_t room = count > most ? 0 : count;
  if (room > context.picked.list.capacity) reserve(context, context.picked, room);
  kernels::SelectedList list = context.picked.list;
  list.capacity = room;
  run_on(context, [&](auto tag) {
    kernels::collect(tag, context.types.work(), context.n, context.state.residual.data(), take,
                     &control->rule, staged, list, &control->count);
  });
  set_picked(context, room);
  return count;
}

void take_largest(SparseContext& context, index_t k) {
  if (k > context.picked.list.capacity) reserve(context, context.picked, k);
  SparseControl* control = context.control.data();
  void* residual = context.state.residual.data();
  const kernels::Candidates from = {context.types.work(), context.n, residual, nullptr};
  index_t* counts = tallies_for(context, context.n);
  run_on(context, [&](auto tag) {
    kernels::find_rule(tag, from, k, &control->rule, context.histogram.data());
    kernels::select(tag, from, 0, &control->rule, counts, context.picked.list, &control->count,
                    residual);
  });
  set_picked(context, std::min(k, context.n));
}

void take_from(SparseContext& context, double threshold) {
  const index_t count = count_from(context, threshold);
  if (count > context.picked.list.capacity) reserve(context, context.picked, count);
  SparseControl* control = context.control.data();
  void* residual = context.state.residual.data();
  const kernels::Candidates from = {context.types.work(), context.n, residual, nullptr};
  index_t* tallies = tallies_for(context, context.n);
  run_on(context, [&](auto tag) {
    kernels::select(tag, from, 0, &control->rule, tallies, context.picked.list, &control->count,
                    residual);
  });
  set_picked(context, count);
}

index_t count_from(SparseContext& context, double threshold) {
  SparseControl* control = context.control.data();
  write_to(context, &control->rule, kernels::SelectionRule{key_of(context, threshold)});
  run_on(context, [&](auto tag) {
    kernels::count_reaching(tag, context.types.work(), context.n, context.state.residual.data(),
                            &control->rule, &control->count);
  });
  return read_back(context, &control->count);
}

double least_magnitude(const SparseContext& context) { return magnitude_of_key(context, 1); }

index_t sparse_calls(const SparseContext& context) {
  return context.state.calls - std::min(context.state.calls, context.options.dense_calls);
}

bool is_time(const SparseContext& context, index_t period) {
  return sparse_calls(context) % period <= context.replayed;
}

void keep_largest_picked(SparseContext& context, index_t k) {
  SparseControl* control = context.control.data();
  const index_t count = context.picked.count;
  const kernels::SelectedList all = context.picked.list;
  const kernels::Candidates from = {context.types.work(), count, all.value, all.index};
  if (k > context.other.list.capacity) reserve(context, context.other, k);
  index_t* counts = tallies_for(context, count);
  void* residual = context.state.residual.data();
  run_on(context, [&](auto tag) {
    kernels::find_rule(tag, from, k, &control->rule, context.histogram.data());
    kernels::select(tag, from, 0, &control->rule, counts, context.other.list, &control->count,
                    residual);
  });
  std::swap(context.picked, context.other);
  set_picked(context, std::min(k, count));
}

void select_exact(SparseContext& context) {
  const index_t n = context.n;
  const index_t k = context.k;
  if (!can_sample(context, k)) {
    accumulate_only(context);
    return take_largest(context, k);
  }
  // One pass lists somewhat more than k elements, if the sample is representative; the k largest
  // of these are the result. Otherwise all elements are looked at.
  const double low = sampled_threshold(context, 1.25 * static_cast<double>(k) + 1000);
  const index_t count = accumulate_and_list(context, low, false, n / 8);
  if (count < k || count > n / 8) return take_largest(context, k);
  keep_largest_picked(context, k);
}

}  // namespace weft::detail
