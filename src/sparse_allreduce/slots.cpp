#include "sparse_allreduce/slots.hpp"

#include <weft/core/error.hpp>

#include "core/hash.hpp"
#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/slot_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weft::detail {
namespace {

constexpr index_t slot_header_words = sizeof(kernels::SlotHeader) / sizeof(index_t);

/// By default 1.5 times the share of k that a slot is for.
index_t capacity_of(const SparseContext& context, int shares) {
  if (context.options.capacity > 0) return std::min(context.options.capacity, context.n);
  const double share = 1.5 * static_cast<double>(context.k) / shares;
  return std::min(static_cast<index_t>(std::ceil(share)), context.n);
}

kernels::Slots slots_in(SparseContext& context, Scratch& memory, index_t capacity, int count) {
  context.report.capacity = capacity;
  kernels::Slots slots = {context.types, capacity, count};
  slots.data = memory.bytes(count * slots.bytes(), context.device());
  return slots;
}

BufferRef memory_of(const SparseContext& context, const kernels::Slots& slots) {
  return {slots.data, slots.ranks * slots.bytes(), DType::u8, context.device()};
}

/// Where the slots of a call begin. Those to owners move on by a slot every time. Those of sums
/// begin anywhere: in step with the others, they would leave out the same sums again and again.
index_t first_in_slot(const SparseContext& context, index_t capacity, bool of_sums) {
  if (!of_sums) return context.state.calls * capacity;
  return static_cast<index_t>(mix_bits(static_cast<std::uint64_t>(context.state.calls) + 1) >> 1);
}

void fill(SparseContext& context, const kernels::Slots& slots, const void* pairs,
          const index_t* offsets, const kernels::SelectedList* sums) {
  kernels::SlotFilling work;
  work.slots = slots;
  work.pairs = pairs;
  work.offsets = offsets;
  work.start = first_in_slot(context, slots.capacity, sums != nullptr);
  work.bad = &context.control.data()->bad;
  work.residual = context.state.residual.data();
  work.overflow = &context.control.data()->overflow;
  work.sums = sums;
  work.divisor = context.divisor();
  run_on(context, [&](auto tag) { kernels::fill_slots(tag, work); });
}

/// One slot for all pairs.
void fill_one(SparseContext& context, const kernels::Slots& slot, const void* pairs, index_t count,
              const kernels::SelectedList* sums) {
  const index_t offsets[2] = {0, count};
  copy_bytes(context.offsets.data(), context.device(), offsets, Device::cpu(), sizeof(offsets));
  fill(context, slot, pairs, context.offsets.data(), sums);
}

void refuse_bad_slots(SparseContext& context, const kernels::Slots& slots) {
  context.report.dropped = read_back(context, &context.control.data()->bad).count;
  kernels::BadSlot* found = &context.control.data()->bad_slot;
  run_on(context, [&](auto tag) { kernels::find_bad_slot(tag, slots, found); });
  const kernels::BadSlot bad = read_back(context, found);
  if (bad.rank >= 0) refuse_call(context, bad.rank, bad.first);
}

/// Counts filled words, padding and headers of `others` slots of other ranks.
void count_words(SparseContext& context, index_t& words, index_t pairs, index_t capacity,
                 index_t others) {
  words += 2 * pairs;
  context.report.padding_words += 2 * (capacity * others - pairs);
  context.report.header_words += slot_header_words * others;
}

index_t pairs_in(SparseContext& context, const kernels::Slots& slots, int slot) {
  const auto* header = reinterpret_cast<const kernels::SlotHeader*>(
      static_cast<const std::byte*>(slots.data) + slot * slots.bytes());
  return read_back(context, header).count;
}

/// Of all slots but this rank's.
index_t pairs_of_others(SparseContext& context, const kernels::Slots& slots) {
  index_t pairs = 0;
  for (int r = 0; r < slots.ranks; ++r) {
    if (r != context.comm.rank()) pairs += pairs_in(context, slots, r);
  }
  return pairs;
}

void start_overflow_count(SparseContext& context) {
  write_to(context, &context.control.data()->overflow, index_t{0});
}

kernels::Slots gather_slots(SparseContext& context, const kernels::Slots& mine) {
  const PhaseTimer timer(context, gather_phase);
  const kernels::Slots all =
      slots_in(context, context.gathered_slots, mine.capacity, context.ranks());
  context.comm.all_gather(memory_of(context, mine), memory_of(context, all));
  count_words(context, context.report.gather_words, pairs_of_others(context, all), all.capacity,
              context.ranks() - 1);
  return all;
}

}  // namespace

bool uses_slots(const SparseContext& context) {
  return context.options.exchange == SparseExchange::slots;
}

void gather_and_add_slots(SparseContext& context) {
  start_overflow_count(context);
  pack_picked(context);
  const kernels::Slots mine = slots_in(context, context.sent_slots, capacity_of(context, 1), 1);
  fill_one(context, mine, context.pairs.data(), context.picked.count, nullptr);
  const kernels::Slots all = gather_slots(context, mine);
  refuse_bad_slots(context, all);
  run_on(context, [&](auto tag) {
    kernels::clear_sums(tag, context.types.work(), context.n, context.sum.data());
    kernels::add_slots(tag, all, context.sum.data());
    // From now on only what was sent counts as picked.
    kernels::join_slots(tag, mine, context.pairs.data(), &context.control.data()->count);
  });
  context.picked.count = read_back(context, &context.control.data()->count);
  context.report.overflow = read_back(context, &context.control.data()->overflow);
}

void split_and_add_slots(SparseContext& context) {
  start_overflow_count(context);
  const int ranks = context.ranks();
  const void* pairs = sort_by_owner(context);
  const index_t capacity = capacity_of(context, ranks);
  const kernels::Slots sent = slots_in(context, context.sent_slots, capacity, ranks);
  const kernels::Slots arrived = slots_in(context, context.received, capacity, ranks);
  fill(context, sent, pairs, context.offsets.data(), nullptr);
  {
    const PhaseTimer timer(context, split_phase);
    context.comm.all_to_all(memory_of(context, sent), memory_of(context, arrived));
  }
  count_words(context, context.report.split_words, pairs_of_others(context, sent), capacity,
              ranks - 1);
  refuse_bad_slots(context, arrived);
  const PhaseTimer timer(context, reduce_phase);
  const kernels::Candidates own = own_sums(context);
  run_on(context, [&](auto tag) {
    kernels::clear_sums(tag, own.work, own.n, const_cast<void*>(own.value));
    kernels::add_slots(tag, arrived, context.sum.data());
  });
}

index_t gather_own_slots(SparseContext& context) {
  const index_t capacity = capacity_of(context, context.ranks());
  const kernels::Slots mine = slots_in(context, context.own_slot, capacity, 1);
  const index_t count = context.other.count;
  fill_one(context, mine, pack_own(context), count, &context.other.list);
  const kernels::Slots all = gather_slots(context, mine);
  const kernels::Slots sent = {context.types, capacity, context.ranks(), context.sent_slots.data()};
  void* pairs =
      context.gathered.bytes(context.ranks() * capacity * context.types.bytes(), context.device());
  const PhaseTimer timer(context, scatter_phase);
  SparseControl* control = context.control.data();
  run_on(context, [&](auto tag) {
    kernels::return_others(tag, sent, all, context.state.residual.data());
    kernels::join_slots(tag, all, pairs, &control->count);
  });
  context.report.overflow = read_back(context, &control->overflow);
  return read_back(context, &control->count);
}

}  // namespace weft::detail
