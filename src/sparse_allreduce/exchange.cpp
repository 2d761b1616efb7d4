#include "sparse_allreduce/exchange.hpp"

#include <weft/core/error.hpp>

#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/slots.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace weft::detail {
namespace {

/// What ranks tell each other with their counts.
struct CountHeader {
  index_t count = 0;
  index_t first_bad = -1;
};
constexpr index_t header_words = 2;
static_assert(sizeof(CountHeader) == header_words * sizeof(index_t));

ConstBufferRef words_of(const std::vector<CountHeader>& headers) {
  return {reinterpret_cast<const index_t*>(headers.data()),
          static_cast<index_t>(headers.size()) * header_words};
}
BufferRef words_of(std::vector<CountHeader>& headers) {
  return {reinterpret_cast<index_t*>(headers.data()),
          static_cast<index_t>(headers.size()) * header_words};
}

index_t first_bad(SparseContext& context) {
  const auto bad = read_back(context, &context.control.data()->bad);
  context.report.dropped = bad.count;
  return bad.first;
}

void refuse_if_bad(SparseContext& context, const std::vector<CountHeader>& headers) {
  const auto bad = std::find_if(headers.begin(), headers.end(),
                                [](const CountHeader& header) { return header.first_bad >= 0; });
  if (bad != headers.end()) refuse_call(context, bad - headers.begin(), bad->first_bad);
}

Parts parts_of(const SparseContext& context, const std::vector<index_t>& counts) {
  std::vector<index_t> bytes(counts.size());
  std::transform(counts.begin(), counts.end(), bytes.begin(),
                 [&](index_t count) { return count * context.types.bytes(); });
  return Parts(std::move(bytes));
}

index_t sum_of(const std::vector<index_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), index_t{0});
}

index_t& at(std::vector<index_t>& values, int rank) {
  return values[static_cast<std::size_t>(rank)];
}
index_t at(const std::vector<index_t>& values, int rank) {
  return values[static_cast<std::size_t>(rank)];
}

/// Adds consecutive blocks of pairs to context.sum.
void add_blocks(SparseContext& context, const void* pairs, const std::vector<index_t>& counts) {
  const auto* next = static_cast<const std::byte*>(pairs);
  for (const index_t count : counts) {
    run_on(context, [&](auto tag) {
      kernels::scatter_add(tag, context.types, next, count, 0, context.sum.data());
    });
    next += count * context.types.bytes();
  }
}

/// How many of the sorted pairs each owner gets.
std::vector<index_t> parts_by_owner(SparseContext& context) {
  std::vector<index_t> parts(static_cast<std::size_t>(context.ranks()) + 1);
  copy_bytes(parts.data(), Device::cpu(), context.offsets.data(), context.device(),
             parts.size() * sizeof(index_t));
  if (!context.device().host_accessible()) ++context.report.host_waits;
  std::adjacent_difference(parts.begin(), parts.end(), parts.begin());
  parts.erase(parts.begin());
  return parts;
}

}  // namespace

void refuse_call(SparseContext& context, index_t rank, index_t element) {
  run_on(context, [&](auto tag) {
    kernels::put_back(tag, context.types.work(), context.picked.list, context.picked.count,
                      context.state.residual.data());
  });
  throw AgreedError(refusal_text(rank, element));
}

std::string refusal_text(index_t rank, index_t element) {
  return fmt::format(
      "SparseAllreduce: element {} of the gradient of rank {} (or its sum with the residual) is "
      "not finite; no rank applies this call, and finite elements are kept in the residuals",
      element, rank);
}

const void* sort_by_owner(SparseContext& context) {
  const int ranks = context.ranks();
  const kernels::Count count = context.picked.size();
  const void* pairs = context.pairs.data();
  index_t* offsets = context.offsets.data();
  if (is_cyclic(context)) {
    void* sorted = context.sorted.bytes(count.most * context.types.bytes(), context.device());
    run_on(context, [&](auto tag) {
      kernels::split_cyclic(tag, context.types, pairs, count, ranks, context.options.oktopk.block,
                            offsets, sorted);
    });
    return sorted;
  }
  if (!context.in_slots) write_boundaries(context);
  run_on(context, [&](auto tag) {
    kernels::split_sorted(tag, context.types, pairs, count, ranks, context.boundaries.data(),
                          offsets);
  });
  return pairs;
}

std::vector<index_t> share_selected(SparseContext& context) {
  const PhaseTimer timer(context, split_phase);
  const auto ranks = static_cast<std::size_t>(context.ranks());
  const std::vector<CountHeader> mine(1, {context.picked.count, first_bad(context)});
  std::vector<CountHeader> headers(ranks);
  context.comm.all_gather(words_of(mine), words_of(headers));
  context.report.header_words += header_words * (context.ranks() - 1);
  refuse_if_bad(context, headers);
  std::vector<index_t> counts(ranks);
  std::transform(headers.begin(), headers.end(), counts.begin(),
                 [](const CountHeader& header) { return header.count; });
  return counts;
}

std::vector<index_t> share_count(SparseContext& context, index_t mine) {
  const PhaseTimer timer(context, gather_phase);
  std::vector<index_t> counts(static_cast<std::size_t>(context.ranks()));
  context.comm.all_gather(ConstBufferRef(&mine, 1), counts);
  context.report.header_words += context.ranks() - 1;
  return counts;
}

kernels::Packing packing_of(SparseContext& context, const ListMemory& list) {
  kernels::Packing work;
  work.types = context.types;
  work.list = list.list;
  work.count = list.size();
  work.refused = context.in_slots ? refused_in_slots(context) : nullptr;
  work.residual = context.state.residual.data();
  work.kept = {0, context.n};
  return work;
}

void pack_picked(SparseContext& context) {
  const PhaseTimer timer(context, select_phase);
  kernels::Packing work = packing_of(context, context.picked);
  work.pairs = context.pairs.bytes(work.count.most * work.types.bytes(), context.device());
  run_on(context, [&](auto tag) { kernels::pack(tag, work); });
}

index_t gather_pairs(SparseContext& context, const void* mine, const std::vector<index_t>& counts) {
  const PhaseTimer timer(context, gather_phase);
  const Parts parts = parts_of(context, counts);
  const int rank = context.comm.rank();
  void* all = context.gathered.bytes(parts.extent(), context.device());
  context.comm.all_gather_v({mine, parts.count(rank), DType::u8, context.device()},
                            {all, parts.extent(), DType::u8, context.device()}, parts);
  const index_t total = sum_of(counts);
  context.report.gather_words += 2 * (total - at(counts, rank));
  return total;
}

void gather_and_add(SparseContext& context) {
  if (context.in_slots) return gather_and_add_slots(context);
  const std::vector<index_t> counts = share_selected(context);
  pack_picked(context);
  gather_pairs(context, context.pairs.data(), counts);
  const PhaseTimer timer(context, reduce_phase);
  run_on(context, [&](auto tag) {
    kernels::clear_sums(tag, context.types.work(), context.n, context.sum.data());
  });
  add_blocks(context, context.gathered.data(), counts);
}

bool is_cyclic(const SparseContext& context) { return context.state.boundaries.empty(); }

void write_boundaries(SparseContext& context) {
  copy_bytes(context.boundaries.data(), context.device(), context.state.boundaries.data(),
             Device::cpu(), context.state.boundaries.size() * sizeof(index_t));
}

void set_equal_boundaries(SparseContext& context) {
  const int ranks = context.ranks();
  context.state.boundaries.resize(static_cast<std::size_t>(ranks) + 1);
  for (int r = 0; r <= ranks; ++r) at(context.state.boundaries, r) = context.n * r / ranks;
}

index_t own_begin(const SparseContext& context) {
  return is_cyclic(context) ? 0 : at(context.state.boundaries, context.comm.rank());
}

kernels::Candidates own_sums(const SparseContext& context) {
  const index_t begin = own_begin(context);
  const index_t end =
      is_cyclic(context) ? context.n : at(context.state.boundaries, context.comm.rank() + 1);
  const std::byte* first = context.sum.data() + begin * context.work_bytes();
  return {context.types.work(), end - begin, first, nullptr, true};
}

void split_and_add(SparseContext& context) {
  if (context.in_slots) return split_and_add_slots(context);
  const index_t pair = context.types.bytes();
  const int rank = context.comm.rank();
  const index_t bad = first_bad(context);
  const void* pairs = sort_by_owner(context);
  const std::vector<index_t> sent = parts_by_owner(context);
  std::vector<CountHeader> out(sent.size());
  std::vector<CountHeader> in(sent.size());
  for (std::size_t r = 0; r < sent.size(); ++r) out[r] = {sent[r], bad};
  context.comm.all_to_all(words_of(out), words_of(in));
  context.report.header_words += header_words * (context.ranks() - 1);
  refuse_if_bad(context, in);
  std::vector<index_t> received(sent.size());
  std::transform(in.begin(), in.end(), received.begin(),
                 [](const CountHeader& header) { return header.count; });

  const Parts sent_parts = parts_of(context, sent);
  const Parts received_parts = parts_of(context, received);
  void* arrived = context.received.bytes(received_parts.extent(), context.device());
  {
    const PhaseTimer timer(context, split_phase);
    context.comm.all_to_all_v({pairs, sent_parts.extent(), DType::u8, context.device()}, sent_parts,
                              {arrived, received_parts.extent(), DType::u8, context.device()},
                              received_parts);
  }
  context.report.split_words += 2 * (sent_parts.extent() - sent_parts.count(rank)) / pair;
  const PhaseTimer timer(context, reduce_phase);
  const kernels::Candidates own = own_sums(context);
  run_on(context, [&](auto tag) {
    kernels::clear_sums(tag, own.work, own.n.most, const_cast<void*>(own.value));
  });
  add_blocks(context, arrived, received);
}

namespace {

/// Lists in context.other what the rule in context.control takes of sums.
void list_sums(SparseContext& context, const kernels::Candidates& from, index_t base) {
  const PhaseTimer timer(context, reselect_phase);
  SparseControl* control = context.control.data();
  index_t* tallies = tallies_for(context, from.n.most);
  const auto list = [&] {
    run_on(context, [&](auto tag) {
      kernels::select(tag, from, base, &control->rule, tallies, context.other.list, &control->count,
                      nullptr);
    });
    return read_back(context, &control->count);
  };
  context.other.count = list();
  if (context.other.count <= context.other.list.capacity) return;
  reserve(context, context.other, context.other.count);
  list();
}

kernels::Candidates all_sums(const SparseContext& context) {
  return {context.types.work(), context.n, context.sum.data(), nullptr, true};
}

}  // namespace

void* pack_sums(SparseContext& context, const ListMemory& sums, Scratch& memory, double divisor,
                kernels::IndexRange kept) {
  const PhaseTimer timer(context, reselect_phase);
  kernels::Packing work = packing_of(context, sums);
  work.divisor = divisor;
  work.kept = kept;
  work.pairs = memory.bytes(work.count.most * work.types.bytes(), context.device());
  run_on(context, [&](auto tag) { kernels::pack(tag, work); });
  return work.pairs;
}

void list_own(SparseContext& context, const kernels::SelectionRule& rule) {
  if (context.in_slots) return list_sums_in_slots(context, rule, true, context.other);
  write_to(context, &context.control.data()->rule, rule);
  list_sums(context, own_sums(context), own_begin(context));
}

void list_largest_sums(SparseContext& context, index_t k) {
  if (k > context.other.list.capacity) reserve(context, context.other, k);
  run_on(context, [&](auto tag) {
    kernels::find_rule(tag, all_sums(context), k, &context.control.data()->rule,
                       context.histogram.data());
  });
  if (context.in_slots)
    return list_sums_in_slots(context, &context.control.data()->rule, false, context.other);
  list_sums(context, all_sums(context), 0);
}

void pack_result(SparseContext& context, kernels::IndexRange kept) {
  pack_sums(context, context.other, context.gathered, context.divisor(), kept);
}

index_t list_touched_sums(SparseContext& context, double divisor) {
  write_to(context, &context.control.data()->rule, kernels::SelectionRule());
  context.other.counter = nullptr;  // after a dense call of an object that exchanges slots
  list_sums(context, all_sums(context), 0);
  pack_sums(context, context.other, context.sorted, divisor, context.own_part());
  return context.other.count;
}

void* pack_own(SparseContext& context) {
  return pack_sums(context, context.other, context.mine, context.divisor(), {0, context.n});
}

index_t gather_own(SparseContext& context, const std::vector<index_t>& counts) {
  return gather_pairs(context, pack_own(context), counts);
}

void return_unused(SparseContext& context, index_t count, bool sorted) {
  const PhaseTimer timer(context, scatter_phase);
  const Device device = context.device();
  void* kept = context.gathered.data();
  if (!sorted) {
    const index_t bytes = count * context.types.bytes();
    void* copy = context.sorted.bytes(bytes, device);
    void* room = context.received.bytes(bytes, device);
    copy_bytes(copy, device, kept, device, static_cast<std::size_t>(bytes));
    run_on(context, [&](auto tag) { kernels::sort_pairs(tag, context.types, count, copy, room); });
    kept = copy;
  }
  run_on(context, [&](auto tag) {
    kernels::return_others(tag, context.types, context.pairs.data(), context.picked.count, kept,
                           count, context.state.residual.data());
  });
}

}  // namespace weft::detail
