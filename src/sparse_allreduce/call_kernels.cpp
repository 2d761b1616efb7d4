// Kernels of one thread, or of few, for CPUs and GPUs.

#include "sparse_allreduce/call_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/magnitude_keys.hpp"

#include <limits>

namespace weft::kernels {
namespace {

constexpr double magnitude_in(DType work, std::uint64_t key) {
  if (work == DType::f64) return detail::magnitude_of<double>(key);
  return static_cast<double>(detail::magnitude_of<float>(key));
}

constexpr std::uint64_t key_from(DType work, double threshold) {
  if (work == DType::f64) return detail::key_above_zero<double>(threshold);
  return detail::key_above_zero<float>(threshold);
}

constexpr double adapted(double threshold, const Adaptation& by, index_t count) {
  const auto number = static_cast<double>(count);
  if (number < by.low) return threshold / by.down;
  return number > by.high ? threshold * by.up : threshold;
}

}  // namespace

template <class Device>
void begin_call(Device device, DType work, CallControl* control, BadElements* bad) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    CallControl fresh;
    fresh.calls = control->calls;
    fresh.local_threshold = control->local_threshold;
    fresh.global_threshold = control->global_threshold;
    fresh.refusal = control->refusal;
    fresh.unreported = control->unreported;
    fresh.local_rule.key = key_from(work, fresh.local_threshold);
    fresh.global_rule.key = key_from(work, fresh.global_threshold);
    *control = fresh;
    *bad = {};
  });
}

template <class Device>
void end_call(Device device, CallControl* control, const BadElements* bad, Count picked,
              Count result, const Adaptation& local, const Adaptation& global) {
  const Adaptation by_picked = local;
  const Adaptation by_result = global;
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    const SlotSummary& headers = control->headers;
    const bool refused = headers.refused != 0;
    const Refusal refusal = {control->calls, headers.rank, headers.first};
    if (refused && control->refusal.call < 0) control->refusal = refusal;
    if (refused && control->unreported.call < 0) control->unreported = refusal;
    // What the list had no room for
    const index_t unlisted = control->picked > picked.most ? control->picked - picked.most : 0;
    control->selected = picked.now() + unlisted;
    control->overflow += unlisted;
    control->put_back = refused ? picked.now() : 0;
    control->shown = refused ? 0 : result.now();
    control->dropped = bad->count;
    control->local_threshold = adapted(control->local_threshold, by_picked, picked.now());
    control->global_threshold = adapted(control->global_threshold, by_result, result.now());
    ++control->calls;
  });
}

template <class Device>
void show_result(Device device, Count result, CallControl* control) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    control->shown = control->headers.refused != 0 ? 0 : result.now();
  });
}

template <class Device>
void set_count(Device device, Count value, index_t* number) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) { *number = value.now(); });
}

template <class Device>
void set_rule(Device device, const SelectionRule& value, SelectionRule* rule) {
  const SelectionRule copy = value;
  for_each(device, 1, [=] WEFT_KERNEL(index_t) { *rule = copy; });
}

template <class Device>
void rule_of_threshold(Device device, DType work, const double* threshold, SelectionRule* rule) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    SelectionRule made;
    made.key = key_from(work, *threshold);
    *rule = made;
  });
}

template <class Device>
void threshold_of_rule(Device device, DType work, const SelectionRule* rule, double* threshold) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) { *threshold = magnitude_in(work, rule->key); });
}

template <class Device>
void choose_candidates(Device device, index_t k, index_t room, index_t n, CallControl* control) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    const bool usable = control->sampled > k && control->sampled <= room;
    control->of_list = usable ? control->sampled : 0;
    control->of_array[0] = 0;
    control->of_array[1] = usable ? 0 : n;
  });
}

template <class Device>
void join_selections(Device device, const SelectionRule* of_list, CallControl* control,
                     SelectionRule* rule) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    if (control->of_list == 0) return;
    *rule = *of_list;
    control->picked = control->from_list;
  });
}

template <class Device>
void set_equal_regions(Device device, index_t n, int ranks, index_t* boundaries) {
  for_each(device, index_t{ranks} + 1,
           [=] WEFT_KERNEL(index_t r) { boundaries[r] = n * r / ranks; });
}

template <class Device>
void set_mean_regions(Device device, index_t n, int ranks, const index_t* sums,
                      index_t* boundaries) {
  for_each(device, index_t{ranks} + 1, [=] WEFT_KERNEL(index_t r) {
    const bool inner = r > 0 && r < ranks;
    const index_t end = r == 0 ? 0 : n;
    boundaries[r] = inner ? sums[r - 1] / ranks : end;
  });
}

template <class Device>
void search_keys(Device device, index_t k, DigitSearch* search) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    DigitSearch start;
    start.wanted = k;
    *search = start;
  });
}

template <class Device>
void search_indices(Device device, DigitSearch* search, CallControl* control) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    control->few = search->present < search->wanted ? 1 : 0;
    DigitSearch start;
    start.wanted = search->wanted;
    start.rule.key = search->prefix;
    *search = start;
  });
}

template <class Device>
void finish_search(Device device, DType work, const DigitSearch* search, CallControl* control,
                   SelectionRule* rule) {
  for_each(device, 1, [=] WEFT_KERNEL(index_t) {
    SelectionRule found;
    if (control->few == 0) {
      found.key = search->rule.key;
      found.last_index = static_cast<index_t>(search->prefix);
    }
    *rule = found;
    control->global_threshold = magnitude_in(work, found.key);
  });
}

#define INSTANTIATE(Device)                                                                  \
  template void begin_call(Device, DType, CallControl*, BadElements*);                       \
  template void end_call(Device, CallControl*, const BadElements*, Count, Count,             \
                         const Adaptation&, const Adaptation&);                              \
  template void show_result(Device, Count, CallControl*);                                    \
  template void set_count(Device, Count, index_t*);                                          \
  template void set_rule(Device, const SelectionRule&, SelectionRule*);                      \
  template void rule_of_threshold(Device, DType, const double*, SelectionRule*);             \
  template void threshold_of_rule(Device, DType, const SelectionRule*, double*);             \
  template void choose_candidates(Device, index_t, index_t, index_t, CallControl*);          \
  template void join_selections(Device, const SelectionRule*, CallControl*, SelectionRule*); \
  template void set_equal_regions(Device, index_t, int, index_t*);                           \
  template void set_mean_regions(Device, index_t, int, const index_t*, index_t*);            \
  template void search_keys(Device, index_t, DigitSearch*);                                  \
  template void search_indices(Device, DigitSearch*, CallControl*);                          \
  template void finish_search(Device, DType, const DigitSearch*, CallControl*, SelectionRule*);
INSTANTIATE(WEFT_THIS_DEVICE)
#undef INSTANTIATE

}  // namespace weft::kernels
