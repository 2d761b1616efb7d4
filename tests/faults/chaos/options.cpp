#include "faults/chaos/options.hpp"

#include "faults/chaos/record.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace weft::chaos {
namespace {

constexpr const char* usage =
    "weft_chaos --threads RANKS | --mpi RANKS  [--seeds FIRST:END] [--seconds S]\n"
    "           [--actions NAME,...]\n"
    "\n"
    "Runs one seed after the other: ranks make random calls, one rank fails, and all ranks must\n"
    "end in time, name that rank and its reason, and never return wrong data. With --seconds,\n"
    "runs further seeds until the time is over. The last line is 'N passed, M failed'.\n"
    "\n"
    "Actions: none throw sleep return abort exit quit stop no_memory other_count other_root\n"
    "other_kind drop\n";

[[noreturn]] void refuse(const std::string& error) {
  fmt::print(stderr, "weft_chaos: {}\n{}", error, usage);
  std::exit(2);
}

template <class T>
T number(const std::string& text) {
  try {
    std::size_t end = 0;
    const double value = std::stod(text, &end);
    if (end == text.size() && value >= 0) return static_cast<T>(value);
  } catch (const std::logic_error&) {
    // Refused below.
  }
  refuse("'" + text + "' is not a number");
}

std::vector<Action> read_actions(std::string_view names) {
  std::vector<Action> actions;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    const auto action = action_named(name);
    if (!action) refuse(fmt::format("unknown action '{}'", name));
    actions.push_back(*action);
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return actions;
}

std::string names_of(const std::vector<Action>& list) {
  std::string text;
  for (const Action action : list) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(action));
  }
  return text;
}

void read_seeds(const std::string& text, Options& options) {
  const std::size_t colon = text.find(':');
  options.first_seed = number<std::uint64_t>(text.substr(0, colon));
  options.end_seed = colon == std::string::npos ? options.first_seed + 1
                                                : number<std::uint64_t>(text.substr(colon + 1));
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      fmt::print("{}", usage);
      std::exit(0);
    }
    if (++i == argc) refuse(name + " needs a value");
    const std::string value = argv[i];
    if (name == "--threads" || name == "--mpi") {
      options.ranks = number<int>(value);
      options.mpi = name == "--mpi";
    } else if (name == "--seeds") {
      read_seeds(value, options);
    } else if (name == "--seconds") {
      options.seconds = number<double>(value);
    } else if (name == "--actions") {
      options.actions = read_actions(value);
    } else if (name == "--play") {
      options.plays = true;
      options.record = value;
    } else {
      refuse("unknown option " + name);
    }
  }
  if (options.ranks < 2 || options.ranks > max_ranks) refuse("ranks must be 2 to 64");
  if (options.end_seed <= options.first_seed) {
    if (options.seconds == 0) refuse("--seeds is missing");
    // New seeds in each run.
    options.first_seed = static_cast<std::uint64_t>(
        std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1));
  }
  if (options.actions.empty()) {
    for (int i = 0; i < actions; ++i) {
      const auto action = static_cast<Action>(i);
      if (action != Action::stop || options.mpi) options.actions.push_back(action);
    }
  }
  return options;
}

std::string repeat(const Options& options, std::uint64_t seed) {
  return fmt::format("--{} {} --seeds {} --actions {}", options.mpi ? "mpi" : "threads",
                     options.ranks, seed, names_of(options.actions));
}

}  // namespace weft::chaos
