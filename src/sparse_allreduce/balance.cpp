#include "sparse_allreduce/balance.hpp"

#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"

#include <algorithm>
#include <numeric>

namespace weft::detail {
namespace {

bool should_balance(const SparseContext& context, const std::vector<index_t>& counts,
                    index_t total) {
  const OktopkConstants& c = context.options.oktopk;
  if (c.balance != SparseBalance::by_imbalance) return c.balance == SparseBalance::on;
  const double mean = static_cast<double>(total) / static_cast<double>(counts.size());
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) > c.imbalance * mean;
}

/// Offsets of consecutive blocks, and their end.
std::vector<index_t> offsets_of(const std::vector<index_t>& counts) {
  std::vector<index_t> offsets(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), offsets.begin() + 1);
  return offsets;
}

/// How much of block r of `from` is in each block of `to`, in bytes.
Parts overlaps(const SparseContext& context, const std::vector<index_t>& from, std::size_t r,
               const std::vector<index_t>& to) {
  std::vector<index_t> bytes(to.size() - 1);
  for (std::size_t q = 0; q < bytes.size(); ++q) {
    const index_t common = std::min(from[r + 1], to[q + 1]) - std::max(from[r], to[q]);
    bytes[q] = std::max<index_t>(0, common) * context.types.bytes();
  }
  return Parts(std::move(bytes));
}

}  // namespace

index_t gather_balanced(SparseContext& context, const std::vector<index_t>& counts) {
  const index_t total = std::accumulate(counts.begin(), counts.end(), index_t{0});
  if (!should_balance(context, counts, total)) return gather_own(context, counts);
  const auto ranks = static_cast<index_t>(counts.size());
  std::vector<index_t> even(counts.size());
  for (index_t r = 0; r < ranks; ++r) {
    even[static_cast<std::size_t>(r)] = total * (r + 1) / ranks - total * r / ranks;
  }
  const std::vector<index_t> before = offsets_of(counts);
  const std::vector<index_t> after = offsets_of(even);
  const auto rank = static_cast<std::size_t>(context.comm.rank());
  const Parts sent = overlaps(context, before, rank, after);
  const Parts received = overlaps(context, after, rank, before);
  void* mine = pack_own(context);
  void* balanced = context.received.bytes(received.extent(), context.device());
  {
    const PhaseTimer timer(context, gather_phase);
    context.comm.all_to_all_v({mine, sent.extent(), DType::u8, context.device()}, sent,
                              {balanced, received.extent(), DType::u8, context.device()}, received);
  }
  context.report.balance_words +=
      2 * (sent.extent() - sent.count(context.comm.rank())) / context.types.bytes();
  return gather_pairs(context, balanced, even);
}

}  // namespace weft::detail
