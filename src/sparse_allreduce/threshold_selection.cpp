#include "sparse_allreduce/selectors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::detail {
namespace {

double in_units_of_k(const SparseContext& context, double factor) {
  return factor * static_cast<double>(context.k);
}

/// Exact, and remembers the k-th magnitude.
void select_and_remember(SparseContext& context) {
  select_exact(context);
  context.state.local_threshold = threshold_of(context);
  context.report.exact_local = true;
}

bool is_time_for_exact(const SparseContext& context) {
  return is_time(context, context.options.oktopk.local_period) ||
         context.state.local_threshold <= 0;
}

/// Raises the threshold while too many are selected; what no longer reaches it is put back.
void raise_local_threshold(SparseContext& context) {
  const OktopkConstants& c = context.options.oktopk;
  const auto most = static_cast<index_t>(in_units_of_k(context, c.raise_above));
  if (context.picked.count <= most || c.raise_steps == 0) return;
  SparseControl* control = context.control.data();
  const kernels::SelectedList all = context.picked.list;
  const index_t count = context.picked.count;
  write_to(context, &control->threshold, context.state.local_threshold);
  run_on(context, [&](auto tag) {
    kernels::raise_threshold(tag, context.types.work(), all, count, most, c.raise_steps,
                             c.raise_factor, &control->threshold);
  });
  context.state.local_threshold = read_back(context, &control->threshold);
  write_to(context, &control->rule,
           kernels::SelectionRule{key_of(context, context.state.local_threshold)});
  if (count > context.other.list.capacity) reserve(context, context.other, count);
  const kernels::Candidates from = {context.types.work(), count, all.value, all.index};
  index_t* tallies = tallies_for(context, count);
  void* residual = context.state.residual.data();
  run_on(context, [&](auto tag) {
    kernels::put_back(tag, context.types.work(), all, count, residual);
    kernels::select(tag, from, 0, &control->rule, tallies, context.other.list, &control->count,
                    residual);
  });
  std::swap(context.picked, context.other);
  context.picked.count = read_back(context, &control->count);
  context.report.selected = context.picked.count;
}

/// Phi^-1: the x below which a normal variable is with this probability, by bisection.
double normal_quantile(double probability) {
  double low = -40;
  double high = 40;
  for (int step = 0; step < 80; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < probability ? low : high) = middle;
  }
  return high;
}

/// mean + |z| * deviation, where a share `density` of a normal distribution is beyond z deviations.
double gaussian_threshold(SparseContext& context) {
  double* sums = context.control.data()->sums;
  run_on(context, [&](auto tag) {
    kernels::moments(tag, context.types.work(), context.n, context.state.residual.data(), sums);
  });
  const auto n = static_cast<double>(context.n);
  const double mean = read_back(context, sums) / n;
  const double square = read_back(context, sums + 1) / n;
  const double deviation = std::sqrt(std::max(0.0, square - mean * mean));
  // The same for the gradient with the opposite sign.
  return std::abs(mean) - normal_quantile(context.options.density / 2) * deviation;
}

}  // namespace

void select_periodic(SparseContext& context) {
  if (is_time_for_exact(context)) return select_and_remember(context);
  accumulate_and_list(context, context.state.local_threshold, true, context.n);
}

void select_reused(SparseContext& context) {
  if (is_time_for_exact(context)) {
    select_and_remember(context);
  } else {
    accumulate_and_list(context, context.state.local_threshold, true, context.n);
    raise_local_threshold(context);
  }
  const OktopkConstants& c = context.options.oktopk;
  const auto count = static_cast<double>(context.picked.count);
  if (count < in_units_of_k(context, c.local_low)) {
    context.state.local_threshold /= c.local_factor;
  } else if (count > in_units_of_k(context, c.local_high)) {
    context.state.local_threshold *= c.local_factor;
  }
}

void select_gaussian(SparseContext& context) {
  constexpr double low = 3.0 / 4;
  constexpr double high = 5.0 / 4;
  constexpr double factor = 1.02;
  constexpr int most_steps = 20;
  accumulate_only(context);
  double threshold = std::max(gaussian_threshold(context), least_magnitude(context));
  auto count = static_cast<double>(count_from(context, threshold));
  const bool too_few = count < in_units_of_k(context, low);
  const bool too_many = count > in_units_of_k(context, high);
  for (int step = 0; step < most_steps && (too_few || too_many); ++step) {
    threshold =
        std::max(too_few ? threshold / factor : threshold * factor, least_magnitude(context));
    count = static_cast<double>(count_from(context, threshold));
    if (too_few ? count >= in_units_of_k(context, low) : count <= in_units_of_k(context, high)) {
      break;
    }
  }
  context.state.local_threshold = threshold;
  take_from(context, threshold);
}

void select_sampled(SparseContext& context) {
  const double threshold = sampled_threshold(context, in_units_of_k(context, 1));
  if (threshold <= 0) return select_exact(context);
  context.state.local_threshold = threshold;
  accumulate_and_list(context, threshold, true, context.n);
}

void take_chunks(SparseContext& context) {
  const index_t chunk = std::min(context.options.chunk, context.n);
  const index_t chunks = (context.n + chunk - 1) / chunk;
  const auto share = context.options.density * static_cast<double>(chunk);
  const index_t each = std::clamp<index_t>(std::llround(share), 1, chunk);
  const index_t last = context.n - (chunks - 1) * chunk;
  const index_t count = (chunks - 1) * each + std::min(each, last);
  if (count > context.picked.list.capacity) reserve(context, context.picked, count);
  run_on(context, [&](auto tag) {
    kernels::select_in_chunks(tag, context.types.work(), context.n, chunk, each,
                              context.state.residual.data(), context.picked.list);
  });
  context.picked.count = count;
  context.report.selected = count;
}

void select_chunked(SparseContext& context) {
  accumulate_only(context);
  take_chunks(context);
}

}  // namespace weft::detail
