#include "sparse_allreduce/slots.hpp"

#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/slot_kernels.hpp"
#include "sparse_allreduce/slots_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weft::detail {
namespace {

constexpr index_t slot_header_words = sizeof(kernels::SlotHeader) / sizeof(index_t);

kernels::CallControl* call_of(SparseContext& context) { return &context.control.data()->call; }

kernels::Slots slots_in(SparseContext& context, Scratch& memory, index_t capacity, int count) {
  context.report.capacity = capacity;
  kernels::Slots slots = {context.types, capacity, count};
  slots.data = memory.bytes(count * slots.bytes(), context.device());
  return slots;
}

BufferRef memory_of(const SparseContext& context, const kernels::Slots& slots) {
  return {slots.data, slots.ranks * slots.bytes(), DType::u8, context.device()};
}

kernels::SlotFilling filling_of(SparseContext& context, const kernels::Slots& slots,
                                const void* pairs) {
  kernels::CallControl* call = call_of(context);
  kernels::SlotFilling work;
  work.slots = slots;
  work.pairs = pairs;
  work.offsets = context.offsets.data();
  work.call = &call->calls;
  work.bad = &context.control.data()->bad;
  work.residual = context.state.residual.data();
  work.overflow = &call->overflow;
  work.divisor = context.divisor();
  work.refused = refused_in_slots(context);
  return work;
}

/// One slot for all pairs, which goes to all ranks.
void fill_one(SparseContext& context, const kernels::Slots& slot, const void* pairs,
              kernels::Count count) {
  kernels::SlotFilling work = filling_of(context, slot, pairs);
  work.sent = &call_of(context)->gather_pairs;
  run_on(context, [&](auto tag) {
    kernels::split_sorted(tag, context.types, pairs, count, 1, nullptr, context.offsets.data());
    kernels::fill_slots(tag, work);
  });
}

/// The same of the sums in context.other, which are never more than lists have room for.
void fill_with_sums(SparseContext& context, const kernels::Slots& slot) {
  kernels::SlotFilling work = filling_of(context, slot, pack_own(context));
  work.offsets = call_of(context)->listed;
  work.sent = &call_of(context)->gather_pairs;
  work.sums = &context.other.list;
  run_on(context, [&](auto tag) { kernels::fill_slots(tag, work); });
}

/// Counts the padding and headers of slots; words that are sent are subtracted when the report is
/// read.
void count_slots(SparseContext& context, index_t capacity) {
  const index_t others = context.ranks() - 1;
  context.report.padding_words += 2 * capacity * others;
  context.report.header_words += slot_header_words * others;
}

kernels::Slots gather_slots(SparseContext& context, const kernels::Slots& mine) {
  const PhaseTimer timer(context, gather_phase);
  const kernels::Slots all =
      slots_in(context, context.gathered_slots, mine.capacity, context.ranks());
  context.comm.all_gather(memory_of(context, mine), memory_of(context, all));
  count_slots(context, all.capacity);
  return all;
}

bool has_own_range(const SparseContext& context) { return !is_cyclic(context); }

const index_t* own_range(const SparseContext& context) {
  return context.boundaries.data() + context.comm.rank();
}

void clear_own(SparseContext& context) {
  const DType work = context.types.work();
  run_on(context, [&](auto tag) {
    if (has_own_range(context)) {
      kernels::clear_own_sums(tag, work, context.n, own_range(context), context.sum.data());
    } else {
      kernels::clear_sums(tag, work, context.n, context.sum.data());
    }
  });
}

}  // namespace

kernels::Candidates sums_in_slots(const SparseContext& context, bool own) {
  kernels::Candidates from = {context.types.work(), context.n, context.sum.data(), nullptr, true};
  if (own && has_own_range(context)) from.range = own_range(context);
  return from;
}

index_t slot_capacity(const SparseContext& context, int shares) {
  if (context.options.capacity > 0) return std::min(context.options.capacity, context.n);
  const double share = 1.5 * static_cast<double>(context.k) / shares;
  return std::min(static_cast<index_t>(std::ceil(share)), context.n);
}

const index_t* refused_in_slots(const SparseContext& context) {
  return &context.control.data()->call.headers.refused;
}

void begin_slots(SparseContext& context) {
  kernels::CallControl* call = call_of(context);
  const index_t room = room_of_lists(context, context.ranks());
  reserve(context, context.picked, room);
  reserve(context, context.other, room);
  context.picked.counter = &call->picked;
  context.other.counter = call->listed + 1;
  context.adapt_local = context.adapt_global = {};
  run_on(context, [&](auto tag) {
    kernels::begin_call(tag, context.types.work(), call, &context.control.data()->bad);
  });
}

void end_slots(SparseContext& context, const kernels::Count& result) {
  const PhaseTimer timer(context, scatter_phase);
  kernels::CallControl* call = call_of(context);
  const kernels::SelectedList& picked = context.picked.list;
  run_on(context, [&](auto tag) {
    kernels::end_call(tag, call, &context.control.data()->bad, context.picked.size(), result,
                      context.adapt_local, context.adapt_global);
    kernels::put_back(tag, context.types.work(), picked, {picked.capacity, &call->put_back},
                      context.state.residual.data());
  });
}

void share_flags_in_slots(SparseContext& context) {
  const kernels::Slots mine = slots_in(context, context.sent_slots, 0, 1);
  fill_one(context, mine, nullptr, 0);
  const kernels::Slots all = gather_slots(context, mine);
  run_on(context, [&](auto tag) { kernels::read_headers(tag, all, &call_of(context)->headers); });
}

void gather_and_add_slots(SparseContext& context) {
  kernels::CallControl* call = call_of(context);
  pack_picked(context);
  const kernels::Slots mine = slots_in(context, context.sent_slots, slot_capacity(context, 1), 1);
  fill_one(context, mine, context.pairs.data(), context.picked.size());
  const kernels::Slots all = gather_slots(context, mine);
  const PhaseTimer timer(context, reduce_phase);
  run_on(context, [&](auto tag) {
    kernels::read_headers(tag, all, &call->headers);
    kernels::set_count(tag, {most_sums_in_slots(context), &call->headers.pairs}, &call->total);
    kernels::clear_sums(tag, context.types.work(), context.n, context.sum.data());
    kernels::add_slots(tag, all, context.sum.data());
    kernels::join_slots(tag, mine, context.pairs.data(), &call->joined);
  });
}

void return_unkept_slots(SparseContext& context, kernels::Count kept) {
  const PhaseTimer timer(context, scatter_phase);
  const kernels::Count sent = {slot_capacity(context, 1), &call_of(context)->joined};
  run_on(context, [&](auto tag) {
    kernels::return_others(tag, context.types, context.pairs.data(), sent, context.gathered.data(),
                           kept, context.state.residual.data());
  });
}

index_t most_sums_in_slots(const SparseContext& context) {
  return std::min(context.n, context.ranks() * slot_capacity(context, 1));
}

void split_and_add_slots(SparseContext& context) {
  kernels::CallControl* call = call_of(context);
  const int ranks = context.ranks();
  const void* pairs = sort_by_owner(context);
  const index_t capacity = slot_capacity(context, ranks);
  const kernels::Slots sent = slots_in(context, context.sent_slots, capacity, ranks);
  const kernels::Slots arrived = slots_in(context, context.received, capacity, ranks);
  kernels::SlotFilling work = filling_of(context, sent, pairs);
  work.sent = &call->split_pairs;
  work.own = context.comm.rank();
  run_on(context, [&](auto tag) { kernels::fill_slots(tag, work); });
  {
    const PhaseTimer timer(context, split_phase);
    context.comm.all_to_all(memory_of(context, sent), memory_of(context, arrived));
  }
  count_slots(context, capacity);
  const PhaseTimer timer(context, reduce_phase);
  run_on(context, [&](auto tag) { kernels::read_headers(tag, arrived, &call->headers); });
  clear_own(context);
  run_on(context, [&](auto tag) { kernels::add_slots(tag, arrived, context.sum.data()); });
}

kernels::Count gather_own_slots(SparseContext& context) {
  const index_t capacity = slot_capacity(context, context.ranks());
  const kernels::Slots mine = slots_in(context, context.own_slot, capacity, 1);
  fill_with_sums(context, mine);
  const kernels::Slots all = gather_slots(context, mine);
  const kernels::Slots sent = {context.types, capacity, context.ranks(), context.sent_slots.data()};
  const index_t most = context.ranks() * capacity;
  void* pairs = context.gathered.bytes(most * context.types.bytes(), context.device());
  const PhaseTimer timer(context, scatter_phase);
  index_t* total = &call_of(context)->total;
  run_on(context, [&](auto tag) {
    kernels::return_others(tag, sent, all, context.state.residual.data());
    kernels::join_slots(tag, all, pairs, total);
  });
  return {most, total};
}

void set_equal_regions_in_slots(SparseContext& context) {
  set_equal_boundaries(context);
  run_on(context, [&](auto tag) {
    kernels::set_equal_regions(tag, context.n, context.ranks(), context.boundaries.data());
  });
}

void set_quantile_regions_in_slots(SparseContext& context) {
  set_equal_regions_in_slots(context);
  const int ranks = context.ranks();
  if (ranks == 1) return;
  index_t* quantiles = context.offsets.data();
  run_on(context, [&](auto tag) {
    kernels::index_quantiles(tag, context.types, context.pairs.data(), context.picked.size(),
                             context.n, ranks, quantiles);
  });
  context.comm.allreduce(BufferRef(quantiles, ranks - 1, context.device()));
  context.report.header_words += 2 * (ranks - 1) * (ranks - 1) / ranks;
  run_on(context, [&](auto tag) {
    kernels::set_mean_regions(tag, context.n, ranks, quantiles, context.boundaries.data());
  });
}

kernels::Count list_touched_in_slots(SparseContext& context, index_t most) {
  reserve(context, context.touched, most);
  list_sums_in_slots(context, kernels::SelectionRule(), false, context.touched);
  pack_sums(context, context.touched, context.sorted, context.divisor(), context.own_part());
  kernels::CallControl* call = call_of(context);
  run_on(context, [&](auto tag) { kernels::show_result(tag, context.touched.size(), call); });
  return {most, &call->shown};
}

void list_sums_in_slots(SparseContext& context, const kernels::SelectionRule* rule, bool own,
                        ListMemory& memory) {
  const PhaseTimer timer(context, reselect_phase);
  index_t* tallies = tallies_for(context, context.n);
  index_t* listed = call_of(context)->listed + 1;
  memory.counter = listed;
  run_on(context, [&](auto tag) {
    kernels::select(tag, sums_in_slots(context, own), 0, rule, tallies, memory.list, listed,
                    nullptr);
  });
}

void list_sums_in_slots(SparseContext& context, const kernels::SelectionRule& rule, bool own,
                        ListMemory& memory) {
  run_on(context, [&](auto tag) { kernels::set_rule(tag, rule, &context.control.data()->rule); });
  list_sums_in_slots(context, &context.control.data()->rule, own, memory);
}

}  // namespace weft::detail
