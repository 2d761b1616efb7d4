#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/presets.hpp"

#include <algorithm>
#include <vector>

namespace weft::detail {
namespace {

/// Of the union of context.picked and pairs of another rank, the k largest become context.picked.
/// The others move to the residual of this rank; with the classic rule they are dropped.
void merge(SparseContext& context, const void* pairs, index_t count) {
  const PhaseTimer timer(context, reduce_phase);
  const index_t most = context.picked.count + count;
  if (most > context.other.list.capacity) reserve(context, context.other, most);
  SparseControl* control = context.control.data();
  run_on(context, [&](auto tag) {
    kernels::merge_pairs(tag, context.types, context.picked.list, context.picked.count, pairs,
                         count, context.other.list, &control->count);
  });
  const index_t merged = read_back(context, &control->count);
  const index_t kept = std::min(merged, context.k);
  if (kept > context.picked.list.capacity) reserve(context, context.picked, kept);
  const kernels::SelectedList& all = context.other.list;
  const kernels::Candidates from = {context.types.work(), merged, all.value, all.index};
  index_t* tallies = tallies_for(context, merged);
  run_on(context, [&](auto tag) {
    kernels::find_rule(tag, from, kept, &control->rule, context.histogram.data());
    kernels::select(tag, from, 0, &control->rule, tallies, context.picked.list, &control->count,
                    nullptr);
    if (context.options.gtopk == GtopkResidual::transfer) {
      kernels::add_dropped(tag, from.work, all, merged, context.picked.list, kept,
                           context.state.residual.data());
    }
  });
  context.picked.count = kept;
}

/// The number of pairs that a rank sends. It is k in general, and sent only if it may differ.
class PairCounts {
 public:
  PairCounts(SparseContext& context, const std::vector<index_t>& selected)
      : context_(context), known_(std::all_of(selected.begin(), selected.end(), [&](index_t count) {
          return count == context.k;
        })) {}

  void send(index_t count, int to) const {
    if (!known_) context_.comm.send(ConstBufferRef(&count, 1), to);
  }
  index_t receive(int from) const {
    if (known_) return context_.k;
    index_t count = 0;
    context_.comm.recv(BufferRef(&count, 1), from);
    ++context_.report.header_words;
    return count;
  }
  index_t broadcast(index_t count) const {
    if (known_) return context_.k;
    context_.comm.broadcast(BufferRef(&count, 1), 0);
    ++context_.report.header_words;
    return count;
  }

 private:
  SparseContext& context_;
  bool known_;
};

BufferRef pairs_at(const SparseContext& context, void* pairs, index_t count) {
  return {pairs, count * context.types.bytes(), DType::u8, context.device()};
}

void receive_and_merge(SparseContext& context, int from, index_t count) {
  void* pairs = context.received.bytes(count * context.types.bytes(), context.device());
  {
    const PhaseTimer timer(context, split_phase);
    context.comm.recv(pairs_at(context, pairs, count), from);
  }
  context.report.split_words += 2 * count;
  merge(context, pairs, count);
}

/// The sums of this rank's part of the tree, rounded for the way.
void send_sums(SparseContext& context, int to) {
  const index_t count = context.picked.count;
  kernels::Packing work = packing_of(context, context.picked);
  work.pairs = context.mine.bytes(count * work.types.bytes(), context.device());
  run_on(context, [&](auto tag) { kernels::pack(tag, work); });
  const PhaseTimer timer(context, split_phase);
  context.comm.send(pairs_at(context, work.pairs, count), to);
  context.report.split_words += 2 * count;
}

/// Rank 0 ends up with the k largest sums. A rank that is a multiple of 2d merges the sums of rank
/// + d, for d = 1, 2, 4, ...; any number of ranks will do.
void reduce_tree(SparseContext& context, const PairCounts& counts) {
  const int rank = context.comm.rank();
  for (int distance = 1; distance < context.ranks(); distance *= 2) {
    if (rank % (2 * distance) == distance) {
      counts.send(context.picked.count, rank - distance);
      return send_sums(context, rank - distance);
    }
    if (rank + distance < context.ranks()) {
      receive_and_merge(context, rank + distance, counts.receive(rank + distance));
    }
  }
}

/// Rank 0 sends the result to all.
index_t broadcast_result(SparseContext& context, const PairCounts& counts) {
  const index_t total = counts.broadcast(context.picked.count);
  void* pairs = context.gathered.bytes(total * context.types.bytes(), context.device());
  if (context.comm.rank() == 0) {
    kernels::Packing work = packing_of(context, context.picked);
    work.divisor = context.divisor();
    work.pairs = pairs;
    run_on(context, [&](auto tag) { kernels::pack(tag, work); });
  }
  const PhaseTimer timer(context, gather_phase);
  context.comm.broadcast(pairs_at(context, pairs, total), 0);
  if (context.ranks() > 1) context.report.gather_words += 2 * total;
  return total;
}

}  // namespace

/// Pairs of ranks merge what they have selected and keep the k largest sums, round by round.
SparseOutcome run_gtopk(SparseContext& context) {
  select_elements(context);
  const PairCounts counts(context, share_selected(context));
  // Sums are made of rounded values, as in the other algorithms. With the classic rule, the pairs
  // are needed again.
  pack_picked(context);
  const index_t selected = context.picked.count;
  run_on(context, [&](auto tag) {
    kernels::unpack(tag, context.types, context.pairs.data(), selected, context.picked.list);
  });
  reduce_tree(context, counts);
  const index_t total = broadcast_result(context, counts);
  if (context.options.gtopk == GtopkResidual::classic) {
    context.picked.count = selected;
    return_unused(context, total, true);
  }
  return {SparseOutcome::Form::pairs, total, true};
}

}  // namespace weft::detail
