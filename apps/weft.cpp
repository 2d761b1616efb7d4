#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include "arguments.hpp"
#include "subcommand.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace {

using namespace weft;
using namespace weft::app;

using Maker = std::unique_ptr<Subcommand> (*)();
constexpr Maker makers[] = {
    make_demo, make_info, make_bench, make_selftest, make_sparse_bench,
};

struct Choice {
  CLI::App* app;
  std::unique_ptr<Subcommand> subcommand;
};

/// The help of CLI11 ends with empty lines.
std::string help_of(const CLI::App& weft) {
  const std::string text = weft.help();
  return text.substr(0, text.find_last_not_of('\n') + 1) + "\n\n" + launch_help();
}

/// CLI11 only reports that a subcommand is required.
void require_known(const std::string& name, const std::vector<Choice>& choices) {
  std::string names;
  for (const Choice& choice : choices) {
    if (choice.app->get_name() == name) return;
    names += (names.empty() ? "" : ", ") + choice.app->get_name();
  }
  refuse("unknown subcommand '{}'; subcommands are {}", name, names);
}

/// Reads the options and finds the subcommand to run. Returns the text of --help or --version.
std::string read(CLI::App& weft, std::vector<Choice>& choices, const Subcommand*& chosen,
                 std::vector<std::string> arguments) {
  require_values(arguments);
  if (!arguments.empty() && !arguments[0].starts_with('-')) require_known(arguments[0], choices);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    weft.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return help_of(weft);
  } catch (const CLI::CallForVersion&) {
    return fmt::format("weft {}\n", version());
  } catch (const CLI::ParseError& error) {
    throw ArgumentError(fmt::format("{}; see weft --help", error.what()));
  }
  for (const Choice& choice : choices) {
    if (!choice.app->parsed()) continue;
    choice.subcommand->check();
    chosen = choice.subcommand.get();
  }
  return {};
}

int run(int argc, char** argv) {
  CLI::App weft(
      "Demos, tests and benchmarks of Weft, a library of distributed arrays, operators and solvers",
      "weft");
  weft.set_version_flag("--version", std::string(version()));
  weft.require_subcommand(1);
  std::vector<Choice> choices;
  for (const Maker make : makers) {
    auto subcommand = make();
    CLI::App* app = subcommand->declare(weft);
    choices.push_back({app, std::move(subcommand)});
  }

  const Subcommand* chosen = nullptr;
  Program program;
  program.read = [&](const std::vector<std::string>& arguments) {
    return read(weft, choices, chosen, arguments);
  };
  program.body = [&](const Comm& world) { return chosen->run(world); };
  return launch(argc, argv, program);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {  // before launch(), which throws nothing
    std::fprintf(stderr, "weft: %s\n", error.what());
    return 1;
  }
}
