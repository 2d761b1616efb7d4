#include "sparse_bench/words.hpp"

#include "sparse_allreduce/sparse_engine.hpp"
#include "sparse_bench/formulas.hpp"
#include "sparse_bench/laws.hpp"
#include "sparse_bench/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::sparse_bench {
namespace {

/// A number in memory of a device.
index_t number_at(const index_t* at, Device device) {
  return indices_in({at, 1, DType::i64, device}).front();
}

/// The indices that this rank selected in the last call, if no merge has replaced them since.
std::vector<index_t> picked_indices(const detail::SparseContext& context) {
  const kernels::Count size = context.picked.size();
  const index_t count = size.exact == nullptr ? size.most : number_at(size.exact, context.device());
  return indices_in(
      {context.picked.list.index, std::min(count, size.most), DType::i64, context.device()});
}

/// How many of the indices are in the region of each rank.
std::vector<index_t> by_owner(const detail::SparseContext& context,
                              const std::vector<index_t>& indices) {
  std::vector<index_t> counts(static_cast<std::size_t>(context.ranks()));
  const std::vector<index_t>& boundaries = context.state.boundaries;
  for (const index_t i : indices) {
    if (boundaries.empty()) {
      ++counts[static_cast<std::size_t>(i / context.options.oktopk.block % context.ranks())];
      continue;
    }
    const auto end = std::upper_bound(boundaries.begin() + 1, boundaries.end() - 1, i);
    ++counts[static_cast<std::size_t>(end - boundaries.begin() - 1)];
  }
  return counts;
}

index_t count_union(const detail::SparseContext& context, const std::vector<index_t>& indices) {
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(context.n));
  for (const index_t i : indices) marks[static_cast<std::size_t>(i)] = 1;
  context.comm.allreduce(marks, ReduceOp::max);
  return std::accumulate(marks.begin(), marks.end(), index_t{0});
}

CallCounts counts_of(const detail::SparseContext& context, const SparseReport& report,
                     const std::vector<index_t>& result) {
  CallCounts counts;
  counts.rank = context.comm.rank();
  counts.ranks = context.ranks();
  counts.n = context.n;
  counts.k = report.k;
  counts.capacity = report.capacity;
  counts.balanced = context.options.oktopk.balance == SparseBalance::on;
  counts.selected.resize(static_cast<std::size_t>(counts.ranks));
  context.comm.all_gather(ConstBufferRef(&report.selected, 1), counts.selected);
  if (!has_owners(report.algorithm)) return counts;
  const std::vector<index_t> picked = picked_indices(context);
  counts.sent = by_owner(context, picked);
  counts.owned = by_owner(context, result);
  if (needs_union(report.algorithm)) counts.in_union = count_union(context, picked);
  return counts;
}

/// Bytes that a call has handed to Comm, summed over the ranks, in the directions in which words
/// are counted.
double bytes_of(const Stats& stats, int ranks) {
  const auto of = [&](CallKind kind) { return static_cast<double>(stats[kind].bytes); };
  return of(CallKind::all_to_all) + of(CallKind::all_gather) * (ranks - 1) +
         of(CallKind::send) * 2 + of(CallKind::broadcast) * ranks +
         of(CallKind::allreduce) * 2 * (ranks - 1) / ranks;
}

/// The bytes of the words in a report.
double bytes_of(const detail::SparseContext& context, const SparseReport& report) {
  const auto value = static_cast<double>(size_of(context.types.value));
  // An allreduce of gradient + residual is in the type of sums.
  const bool folds = context.options.algorithm == "auto";
  const double dense_value = folds ? static_cast<double>(context.work_bytes()) : value;
  // topkSA may gather all elements instead of pairs.
  const bool gathers_values = report.result == context.n && needs_union(report.algorithm);
  const auto pair_words =
      static_cast<double>(report.split_words + report.balance_words + report.padding_words +
                          (gathers_values ? 0 : report.gather_words));
  const auto value_words = static_cast<double>(gathers_values ? report.gather_words : 0);
  return pair_words / 2 * static_cast<double>(context.types.bytes()) + value_words * value +
         static_cast<double>(report.dense_words) * dense_value +
         static_cast<double>(report.header_words) * sizeof(index_t);
}

/// Bytes per rank and call by which both may differ: fractions of words of allreduces, counts that
/// are sent in the tree of gtopk, and slots, which are multiples of 16 bytes.
double bytes_slack(const detail::SparseContext& context, const SparseReport& report) {
  return report.capacity > 0 ? 64.0 + 32.0 * context.ranks() : 64.0;
}

class WordsRun {
 public:
  WordsRun(const Comm& comm, const Options& options, const Case& at)
      : comm_(comm),
        at_(at),
        sparse_(sparse_options(options, at, comm.device())),
        engine_(comm, at.n, sparse_),
        gradient_(at.n, at.dtype, comm.device()),
        inputs_(static_cast<std::size_t>(at.n)),
        results_(static_cast<std::size_t>(at.n)) {}

  void call(index_t step) {
    gradient_.write([&](index_t i) { return gradient_at(comm_.rank(), step, at_.n, i); });
    add_to(inputs_, numbers_in(gradient_.ref()));
    const Stats before = comm_.stats();
    const SparseResult result = engine_.run_sparse(gradient_.ref());
    const Stats traffic = comm_.stats() - before;
    // In slots the host knows only how many pairs there may be.
    const index_t pairs =
        number_at(static_cast<const index_t*>(result.count.data), result.count.where);
    const std::vector<index_t> indices = indices_in(result.indices.part(0, pairs));
    const std::vector<double> values = numbers_in(result.values.part(0, pairs));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      results_[static_cast<std::size_t>(indices[i])] += values[i];
    }
    report_ = engine_.report();
    engine_.save();  // brings the boundaries of regions to the host
    count(traffic, indices);
  }

  WordsRow row(int calls) const {
    const detail::SparseContext& context = engine_.context();
    const double per_call = 1.0 / calls;
    WordsRow row;
    row.at = at_;
    row.ranks = comm_.size();
    row.ran = report_.algorithm;
    row.words = comm_.allreduce(words_, ReduceOp::max) * per_call;
    row.formula = comm_.allreduce(formula_, ReduceOp::max) * per_call;
    row.is_bound = comm_.allreduce(is_bound_, ReduceOp::max) > 0;
    row.padding = comm_.allreduce(padding_, ReduceOp::max) * per_call;
    row.header = comm_.allreduce(header_, ReduceOp::max) * per_call;
    row.mismatches = comm_.allreduce(mismatches_);
    const double counted = comm_.allreduce(counted_bytes_);
    const double reported = comm_.allreduce(reported_bytes_);
    row.bytes = counted / comm_.size() * per_call;
    row.bytes_agree = std::abs(counted - reported) <= comm_.allreduce(slack_);
    if (context.selector != nullptr) {
      row.selected =
          comm_.allreduce(selected_) / comm_.size() * per_call / static_cast<double>(report_.k);
    }
    if (imbalance_ > 0) row.imbalance = imbalance_ * per_call;
    if (conserves(at_.algorithm, at_.dtype)) {
      row.conservation_error = conservation_error(comm_, inputs_, results_, residual());
    }
    row.scratch_per_element =
        static_cast<double>(SparseAllreduce::workspace_bytes(comm_.size(), at_.n, sparse_)) /
        static_cast<double>(at_.n);
    return row;
  }

 private:
  void count(const Stats& traffic, const std::vector<index_t>& result) {
    const detail::SparseContext& context = engine_.context();
    const CallCounts counts = counts_of(context, report_, result);
    const WordCount formula = words_by_formula(report_.algorithm, counts);
    if (!formula.admits(report_.words())) ++mismatches_;
    if (formula.is_bound) is_bound_ = 1;
    words_ += static_cast<double>(report_.words());
    formula_ += static_cast<double>(formula.words);
    padding_ += static_cast<double>(report_.padding_words);
    header_ += static_cast<double>(report_.header_words);
    selected_ += static_cast<double>(report_.selected);
    counted_bytes_ += bytes_of(traffic, comm_.size());
    reported_bytes_ += bytes_of(context, report_);
    slack_ += bytes_slack(context, report_);
    if (counts.owned.empty()) return;
    const auto total = std::accumulate(counts.owned.begin(), counts.owned.end(), index_t{0});
    const auto most = *std::max_element(counts.owned.begin(), counts.owned.end());
    if (total > 0) {
      imbalance_ += static_cast<double>(most * comm_.size()) / static_cast<double>(total);
    }
  }

  std::vector<double> residual() const {
    std::vector<std::byte> memory(
        static_cast<std::size_t>(engine_.context().state.residual.size()));
    const BufferRef ref(memory.data(), at_.n, engine_.context().types.work(), Device::cpu());
    engine_.read_residual(ref);
    return numbers_in(ref);
  }

  Comm comm_;
  Case at_;
  SparseOptions sparse_;
  detail::SparseEngine engine_;
  Tensor gradient_;
  std::vector<double> inputs_;
  std::vector<double> results_;
  SparseReport report_;  // of the last call
  // of this rank, summed over the calls
  double words_ = 0;
  double formula_ = 0;
  double padding_ = 0;
  double header_ = 0;
  double selected_ = 0;
  double counted_bytes_ = 0;
  double reported_bytes_ = 0;
  double slack_ = 0;
  double imbalance_ = 0;
  index_t mismatches_ = 0;
  std::int32_t is_bound_ = 0;
};

}  // namespace

WordsRow measure_words(const Comm& comm, const Options& options, const Case& at, int calls) {
  WordsRun run(comm, options, at);
  for (int call = 0; call < calls; ++call) run.call(call);
  return run.row(calls);
}

}  // namespace weft::sparse_bench
