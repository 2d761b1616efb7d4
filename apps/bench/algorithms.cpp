#include "bench/algorithms.hpp"

#include "bench/sizes.hpp"
#include "comm/comm_state.hpp"

#include <fmt/core.h>

namespace weft::bench {
namespace {

using detail::AllreduceLimit;
using detail::AllreduceRow;
using detail::AllreduceTable;
using detail::AllreduceTeam;

bool on_gpu(const Comm& world) { return world.device().kind == DeviceKind::cuda; }

/// The transport of the memory of the default device.
detail::Transport& transport_of(const Comm& world) {
  const detail::CommState& state = *detail::CommAccess::state(world);
  return on_gpu(world) && state.gpu_transport != nullptr ? *state.gpu_transport : *state.transport;
}

std::optional<AllreduceTeam> team_of(const Comm& world) {
  const auto team = transport_of(world).allreduce_team();
  // Algorithms for host memory do not apply to a GPU that the same transport serves.
  const bool host_only = team && (team->place == detail::AllreducePlace::thread ||
                                  team->place == detail::AllreducePlace::process);
  if (on_gpu(world) && host_only) return std::nullopt;
  return team;
}

double total_us(const Row& row) {
  double total = 0;
  for (const auto& cell : {row.out_of_place, row.in_place}) total += cell ? cell->time_us : 0;
  return total;
}

}  // namespace

Algorithms::Algorithms(const Comm& world, std::string_view name) : world_(world) {
  const auto team = team_of(world);
  if (!team) {
    obstacle_ = fmt::format("allreduces on the route '{}' have one algorithm only",
                            world.route(world.device()).name);
    return;
  }
  team_ = *team;
  const detail::ReduceOrder order = detail::allreduce_table()->order();
  for (const AllreduceRow& row : detail::allreduce_rows(team_.place)) {
    if (row.name == name || (name == "all" && row.suits(order))) rows_.push_back(row);
  }
  if (rows_.empty()) {
    obstacle_ = fmt::format("there is no algorithm '{}'; place {} has {}, or use all", name,
                            to_string(team_.place), detail::allreduce_names(team_.place));
  } else if (!rows_.front().suits(order)) {
    obstacle_ = fmt::format(
        "algorithm {} does not keep the order of the ranks; WEFT_ORDER=any allows it", name);
  }
}

void Algorithms::use(const AllreduceRow& row) const {
  const AllreduceLimit always = {row.place, 1, AllreduceLimit::unlimited, row.algorithm};
  transport_of(world_).use_table(
      std::make_shared<AllreduceTable>(std::vector{always}, detail::allreduce_table()->order()));
}

void Algorithms::use_table() const { transport_of(world_).use_table(detail::allreduce_table()); }

std::vector<AllreduceLimit> tuned_limits(const AllreduceTeam& team, std::span<const Row> rows) {
  std::vector<AllreduceLimit> limits;
  for (auto row = rows.begin(); row != rows.end();) {
    auto fastest = row;
    const index_t bytes = row->bytes;
    for (; row != rows.end() && row->bytes == bytes; ++row) {
      if (total_us(*row) < total_us(*fastest)) fastest = row;
    }
    const auto algorithm = detail::find_allreduce_row(team.place, fastest->algorithm)->algorithm;
    if (limits.empty() || limits.back().algorithm != algorithm) {
      limits.push_back({team.place, team.ranks, bytes, algorithm});
    }
    limits.back().up_to = bytes;
  }
  if (!limits.empty()) limits.back().up_to = AllreduceLimit::unlimited;
  return limits;
}

std::string limits_text(std::span<const AllreduceLimit> limits) {
  const AllreduceLimit& first = limits.front();
  std::string text =
      fmt::format("# table of place {} for {} ranks:\n", to_string(first.place), first.ranks);
  for (const AllreduceLimit& limit : limits) {
    std::string sizes = limits.size() == 1 ? "all sizes" : "above";
    if (limit.up_to != AllreduceLimit::unlimited) sizes = "to " + bytes_text(limit.up_to);
    text += fmt::format("#   {:<10} {}\n", sizes,
                        detail::allreduce_row(limit.place, limit.algorithm).name);
  }
  return text;
}

}  // namespace weft::bench
