#include "core/environment.hpp"

#include <weft/core/error.hpp>

#include "core/printable.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

namespace weft::detail {
namespace {

[[noreturn]] void refuse_value(std::string_view name, std::string_view allowed,
                               std::string_view text) {
  refuse("{} must be {}, got '{}'", name, allowed, printable(text));
}

/// All of `text` as a number.
template <class T>
std::optional<T> to_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool to_switch(std::string_view name, std::string_view text) {
  if (text != "0" && text != "1") refuse_value(name, "0 or 1", text);
  return text == "1";
}

std::chrono::duration<double> to_seconds(std::string_view name, std::string_view text) {
  constexpr double most = 1e9;  // fits 64-bit nanoseconds
  const auto seconds = to_number<double>(text);
  if (!seconds || !(*seconds > 0 && *seconds <= most)) {
    refuse_value(name, "a number of seconds above 0 and at most 1e9", text);
  }
  return std::chrono::duration<double>(*seconds);
}

RouteRequest to_route(std::string_view name, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, RouteRequest>, 6> requests = {
      {{"auto", RouteRequest::automatic},
       {"fast", RouteRequest::fast},
       {"nccl", RouteRequest::nccl},
       {"mpi", RouteRequest::mpi},
       {"staged", RouteRequest::staged},
       {"none", RouteRequest::none}}};
  for (const auto& [word, request] : requests) {
    if (word == text) return request;
  }
  refuse_value(name, "auto, fast, nccl, mpi, staged or none", text);
}

int to_ranks(std::string_view name, std::string_view text) {
  const auto ranks = to_number<int>(text);
  if (!ranks || *ranks < 1) refuse_value(name, "a positive number of ranks", text);
  return *ranks;
}

std::string to_file(std::string_view name, std::string_view text) {
  if (text.empty()) refuse_value(name, "the name of a file", text);
  return std::string(text);
}

ReduceOrder to_order(std::string_view name, std::string_view text) {
  if (text == "rank") return ReduceOrder::by_rank;
  if (text == "any") return ReduceOrder::arbitrary;
  refuse_value(name, "rank or any", text);
}

CpuLevel to_level(std::string_view name, std::string_view text) {
  if (text == "v2") return CpuLevel::v2;
  if (text == "v3") return CpuLevel::v3;
  if (text == "v4") return CpuLevel::v4;
  refuse_value(name, "v2, v3 or v4", text);
}

std::vector<int> to_gpus(std::string_view name, std::string_view text) {
  std::vector<int> gpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto gpu = to_number<int>(text.substr(begin, end - begin));
    if (!gpu || *gpu < 0) refuse_value(name, "a list of GPU numbers such as 0,0,1,1", text);
    gpus.push_back(*gpu);
    begin = end + 1;
  }
  return gpus;
}

struct Variable {
  std::string_view name;
  std::string_view values;
  std::string_view help;
  void (*read)(Settings& settings, std::string_view name, std::string_view text);
};

constexpr Variable variables[] = {
    {"WEFT_CHECK", "0|1", "1: compare every collective call between ranks (default 0)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.check = to_switch(name, text);
     }},
    {"WEFT_TIMEOUT", "SECONDS", "longest wait for another rank (default 300)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.timeout = to_seconds(name, text);
     }},
    {"WEFT_DEVICE_COMM", "ROUTE",
     "route of GPU memory: auto (default), fast, nccl, mpi, staged, none",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.device_comm = to_route(name, text);
     }},
    {"WEFT_FAST", "0|1", "0: no shared memory between processes (default 1)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.fast = to_switch(name, text);
     }},
    {"WEFT_NODE_RANKS", "N", "for tests: as if each host had N ranks (default: ask the system)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.node_ranks = to_ranks(name, text);
     }},
    {"WEFT_TABLE", "FILE", "which algorithm an allreduce uses, as weft bench tune writes it",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.table = to_file(name, text);
     }},
    {"WEFT_ORDER", "rank|any", "any: allreduces need not add in the order of ranks (default rank)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.order = to_order(name, text);
     }},
    {"WEFT_GPUS", "N,N,...", "GPU of each rank of a host (default: in turn)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.gpus = to_gpus(name, text);
     }},
    {"WEFT_ISA", "v2|v3|v4", "x86-64 level of kernels (default: the highest available)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.isa = to_level(name, text);
     }},
    {"WEFT_PROFILE", "0|1", "1: measure the time of calls for the statistics (default 0)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.profile = to_switch(name, text);
     }},
    {"WEFT_QUIET", "0|1", "1: no notes at start (default 0)",
     [](Settings& to, std::string_view name, std::string_view text) {
       to.quiet = to_switch(name, text);
     }},
};

/// The number of characters to insert, delete or replace to turn one name into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string note_on(std::string_view name) {
  constexpr std::size_t longest = 64;  // longer names are not close to any of ours
  const Variable* closest = nullptr;
  std::size_t distance = 3;
  for (const Variable& variable : variables) {
    if (name.size() > longest) break;
    const std::size_t edits = edit_distance(name, variable.name);
    if (edits < distance) {
      distance = edits;
      closest = &variable;
    }
  }
  std::string note = fmt::format("{} is set, but Weft has no such variable", printable(name));
  if (closest != nullptr) note += fmt::format("; did you mean {}?", closest->name);
  return note;
}

}  // namespace

Settings parse_settings(const Environment& environment) {
  Settings settings;
  for (const Variable& variable : variables) {
    const char* text = environment(variable.name.data());
    if (text != nullptr) variable.read(settings, variable.name, text);
  }
  return settings;
}

const Settings& settings() {
  static const Settings read = parse_settings([](const char* name) { return std::getenv(name); });
  return read;
}

std::vector<std::string> notes_on_unknown_variables(const char* const* entries) {
  std::vector<std::string> notes;
  const auto names = variable_names();
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry = *entries;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("WEFT_") || name.starts_with("WEFT_TEST_")) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) notes.push_back(note_on(name));
  }
  return notes;
}

std::vector<std::string_view> variable_names() {
  std::vector<std::string_view> names;
  for (const Variable& variable : variables) names.push_back(variable.name);
  return names;
}

std::string variables_help() {
  std::string text = "Environment variables:\n";
  for (const Variable& variable : variables) {
    text += fmt::format("  {:<28}{}\n", fmt::format("{}={}", variable.name, variable.values),
                        variable.help);
  }
  return text;
}

}  // namespace weft::detail
