#include "comm/allreduce_table.hpp"

#include "comm/allreduce_table_file.hpp"
#include "comm/node_board.hpp"
#include "comm/thread_team.hpp"
#include "core/hash.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace weft::detail {
namespace {

using enum AllreducePlace;
using enum AllreduceAlgorithm;

bool always(const AllreduceQuery&) { return true; }

template <index_t most>
bool up_to(const AllreduceQuery& query) {
  return query.bytes <= most;
}

bool if_registered(const AllreduceQuery& query) { return query.registered; }

constexpr bool in_rank_order = true;

/// By place.
constexpr std::array<AllreduceRow, 14> rows = {{
    {thread, slots, "slots", in_rank_order, up_to<Slot::payload_bytes>},
    {thread, slices, "slices", in_rank_order, always},
    {process, in_line, "inline", in_rank_order, up_to<NodeBoard::inline_bytes>},
    {process, one_shot, "one_shot", in_rank_order, always},
    {process, two_shot, "two_shot", in_rank_order, always},
    {process, beneath, "beneath", !in_rank_order, always},
    {gpu_thread, ll, "ll", in_rank_order, up_to<gpu_ll_bytes>},
    {gpu_thread, push, "push", in_rank_order, always},
    {gpu_thread, relay, "relay", in_rank_order, always},
    {gpu_thread, two_shot, "two_shot", in_rank_order, always},
    {gpu_process, ll, "ll", in_rank_order, up_to<gpu_ll_bytes>},
    {gpu_process, push, "push", in_rank_order, always},
    {gpu_process, relay, "relay", in_rank_order, always},
    {gpu_process, two_shot, "two_shot", in_rank_order, if_registered},
}};

constexpr index_t unlimited = AllreduceLimit::unlimited;
constexpr index_t one_line = NodeBoard::inline_bytes;

/// Set with weft bench allreduce: for processes on 16 cores, for GPUs on an H200 that the ranks
/// share. Each place has limits from one rank on, which end with an algorithm that always applies.
/// In one shot, every rank reads the data of all others, so its limit falls with their number, as
/// 16 KiB / ranks.
constexpr AllreduceLimit default_limits[] = {
    {thread, 1, Slot::payload_bytes, slots},
    {thread, 1, unlimited, slices},
    {process, 1, one_line, in_line},
    {process, 1, unlimited, one_shot},
    {process, 3, one_line, in_line},
    {process, 3, 5461, one_shot},
    {process, 3, unlimited, two_shot},
    {process, 4, one_line, in_line},
    {process, 4, 4096, one_shot},
    {process, 4, unlimited, two_shot},
    {process, 6, one_line, in_line},
    {process, 6, 2730, one_shot},
    {process, 6, unlimited, two_shot},
    {process, 8, one_line, in_line},
    {process, 8, 2048, one_shot},
    {process, 8, unlimited, two_shot},
    {process, 16, one_line, in_line},
    {process, 16, 1024, one_shot},
    {process, 16, unlimited, two_shot},
    {process, 32, one_line, in_line},
    {process, 32, unlimited, two_shot},
    {gpu_thread, 1, 32 << 10, ll},
    {gpu_thread, 1, 512 << 10, push},
    {gpu_thread, 1, unlimited, two_shot},
    {gpu_process, 1, 32 << 10, ll},
    {gpu_process, 1, 512 << 10, push},
    {gpu_process, 1, unlimited, two_shot},
    {gpu_process, 1, unlimited, push},
    {gpu_process, 3, 32 << 10, ll},
    {gpu_process, 3, 512 << 10, push},
    {gpu_process, 3, unlimited, two_shot},
    {gpu_process, 3, unlimited, relay},
};

/// The number of ranks whose limits apply to `ranks`; 0 if there are none.
int nearest_ranks(std::span<const AllreduceLimit> limits, AllreducePlace place, int ranks) {
  int nearest = 0;
  for (const AllreduceLimit& limit : limits) {
    if (limit.place == place && limit.ranks <= ranks) nearest = std::max(nearest, limit.ranks);
  }
  return nearest;
}

std::uint64_t hash_of(std::span<const AllreduceLimit> limits, ReduceOrder order) {
  Hash hash;
  hash.add(static_cast<int>(order));
  for (const AllreduceLimit& limit : limits) {
    hash.add(static_cast<int>(limit.place)).add(limit.ranks);
    hash.add(limit.up_to).add(static_cast<int>(limit.algorithm));
  }
  return hash.value();
}

}  // namespace

std::string_view to_string(AllreducePlace place) {
  switch (place) {
    case thread: return "thread";
    case process: return "process";
    case gpu_thread: return "gpu_thread";
    case gpu_process: break;
  }
  return "gpu_process";
}

std::span<const AllreduceRow> allreduce_rows(AllreducePlace place) {
  const auto of_place = [&](const AllreduceRow& row) { return row.place == place; };
  const auto* first = std::find_if(rows.begin(), rows.end(), of_place);
  return {first, std::find_if_not(first, rows.end(), of_place)};
}

const AllreduceRow* find_allreduce_row(AllreducePlace place, std::string_view name) {
  for (const AllreduceRow& row : allreduce_rows(place)) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const AllreduceRow& allreduce_row(AllreducePlace place, AllreduceAlgorithm algorithm) {
  const auto of_place = allreduce_rows(place);
  return *std::find_if(of_place.begin(), of_place.end(),
                       [&](const AllreduceRow& row) { return row.algorithm == algorithm; });
}

std::string allreduce_names(AllreducePlace place) {
  std::string names;
  for (const AllreduceRow& row : allreduce_rows(place)) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

AllreduceTable::AllreduceTable(std::vector<AllreduceLimit> limits, ReduceOrder order)
    : limits_(std::move(limits)), order_(order) {
  const auto key = [](const AllreduceLimit& limit) {
    return std::tuple(limit.place, limit.ranks, limit.up_to);
  };
  std::stable_sort(limits_.begin(), limits_.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  hash_ = hash_of(limits_, order_);
}

AllreduceChoices AllreduceTable::choices(AllreducePlace place, int ranks) const {
  AllreduceChoices choices;
  const auto add = [&](std::span<const AllreduceLimit> limits) {
    const int nearest = nearest_ranks(limits, place, ranks);
    for (const AllreduceLimit& limit : limits) {
      if (limit.place != place || limit.ranks != nearest) continue;
      const AllreduceRow& row = allreduce_row(place, limit.algorithm);
      if (row.suits(order_)) choices.entries_.push_back({limit.up_to, row.applies, row.algorithm});
    }
  };
  add(limits_);
  add(default_limits);
  return choices;
}

const std::shared_ptr<const AllreduceTable>& allreduce_table() {
  static const auto table = std::make_shared<const AllreduceTable>(
      settings().table.empty() ? std::vector<AllreduceLimit>()
                               : read_allreduce_limits(settings().table),
      settings().order);
  return table;
}

}  // namespace weft::detail
