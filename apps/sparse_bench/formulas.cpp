#include "sparse_bench/formulas.hpp"

#include <weft/core/error.hpp>

#include <algorithm>
#include <numeric>

namespace weft::sparse_bench {
namespace {

index_t sum_of(const std::vector<index_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), index_t{0});
}

index_t own(const CallCounts& c, const std::vector<index_t>& counts) {
  return counts[static_cast<std::size_t>(c.rank)];
}

/// Of the counts of the other ranks, what fits into slots.
index_t of_others(const CallCounts& c, const std::vector<index_t>& counts) {
  index_t sum = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (r == static_cast<std::size_t>(c.rank)) continue;
    sum += c.capacity > 0 ? std::min(counts[r], c.capacity) : counts[r];
  }
  return sum;
}

/// 2n(P-1)/P
WordCount dense(const CallCounts& c) { return {2 * c.n * (c.ranks - 1) / c.ranks}; }

/// 2 sum of the other ranks' |L|
WordCount gather_all(const CallCounts& c) { return {2 * of_others(c, c.selected)}; }

/// 2(|L| - own)
index_t split(const CallCounts& c) { return 2 * of_others(c, c.sent); }

/// 2(|L| - own) + 2(U - own), or + n - own if 2U >= n
WordCount split_and_gather_union(const CallCounts& c) {
  if (c.capacity == 0 && 2 * c.in_union >= c.n) {
    const index_t region = c.n * (c.rank + 1) / c.ranks - c.n * c.rank / c.ranks;
    return {split(c) + c.n - region};
  }
  return {split(c) + 2 * (sum_of(c.owned) - own(c, c.owned))};
}

/// 2k per message: of a tree in which a rank sends one, except rank 0, and receives one in each
/// round that it takes part in, and of a broadcast
WordCount tree(const CallCounts& c) {
  if (c.ranks == 1) return {0};
  index_t messages = c.rank == 0 ? 1 : 2;
  for (int d = 1; c.rank % (2 * d) == 0 && c.rank + d < c.ranks; d *= 2) ++messages;
  const index_t most = *std::max_element(c.selected.begin(), c.selected.end());
  const index_t least = *std::min_element(c.selected.begin(), c.selected.end());
  return {2 * std::max(c.k, most) * messages, most != c.k || least != c.k};
}

/// 2(|L| - own) + 2(|G| - own), and 2(own - kept) for balancing
WordCount split_and_gather_largest(const CallCounts& c) {
  const index_t total = sum_of(c.owned);
  const index_t mine = own(c, c.owned);
  if (!c.balanced || c.capacity > 0) return {split(c) + 2 * (total - mine)};
  const index_t before = std::accumulate(c.owned.begin(), c.owned.begin() + c.rank, index_t{0});
  const index_t begin = total * c.rank / c.ranks;
  const index_t end = total * (c.rank + 1) / c.ranks;
  const index_t kept = std::max<index_t>(0, std::min(end, before + mine) - std::max(begin, before));
  return {split(c) + 2 * (mine - kept) + 2 * (total - (end - begin))};
}

struct Formula {
  const char* algorithm;
  WordCount (*words)(const CallCounts& counts);
};

constexpr Formula formulas[] = {
    {"dense", dense},
    {"topk", gather_all},
    {"topkA", gather_all},
    {"topkA2", gather_all},
    {"topkAopt", gather_all},
    {"gaussiank", gather_all},
    {"gaussiankconcat", gather_all},
    {"topkSA", split_and_gather_union},
    {"gaussiankSA", split_and_gather_union},
    {"gtopk", tree},
    {"oktopk", split_and_gather_largest},
};

const Formula& find_formula(const std::string& algorithm) {
  const auto* found =
      std::find_if(std::begin(formulas), std::end(formulas),
                   [&](const Formula& each) { return algorithm == each.algorithm; });
  require(found != std::end(formulas), "sparse-bench: there is no formula for the words of '{}'",
          algorithm);
  return *found;
}

}  // namespace

WordCount words_by_formula(const std::string& algorithm, const CallCounts& counts) {
  return find_formula(algorithm).words(counts);
}

bool has_owners(const std::string& algorithm) {
  return needs_union(algorithm) || find_formula(algorithm).words == split_and_gather_largest;
}

bool needs_union(const std::string& algorithm) {
  return find_formula(algorithm).words == split_and_gather_union;
}

}  // namespace weft::sparse_bench
