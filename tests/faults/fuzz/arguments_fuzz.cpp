// Command lines, one argument per line: the options of every Weft program, then those of the
// program weft. They are refused with an ArgumentError, or accepted.

#include <weft/core/error.hpp>

#include "bench/options.hpp"
#include "comm/launch_options.hpp"
#include "faults/fuzz/fuzz_target.hpp"
#include "subcommand.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>
#include <vector>

namespace {

using namespace weft;
using faults::expect;

constexpr std::size_t most_arguments = 32;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; lines.size() < most_arguments && std::getline(stream, line);)
    lines.push_back(line.substr(0, line.find('\0')));
  return lines;
}

/// The arguments that take_options leaves; empty if it refuses them.
std::vector<std::string> take(std::vector<std::string> arguments, detail::Help help) {
  std::string program = "program";
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  try {
    const auto options = detail::take_options(argc, argv.data(), help);
    expect(!options.ranks || *options.ranks > 0, "ranks that are not positive");
  } catch (const ArgumentError&) {
    expect(argc == static_cast<int>(arguments.size()) + 1, "argv was changed by an error");
    return {};
  }
  expect(argc >= 1 && argc <= static_cast<int>(arguments.size()) + 1 &&
             argv[static_cast<std::size_t>(argc)] == nullptr,
         "argc is wrong");
  std::vector<std::string> rest(argv.data() + 1, argv.data() + argc);
  auto next = arguments.begin();
  for (const std::string& one : rest) {
    next = std::find(next, arguments.end(), one);
    expect(next != arguments.end(), "arguments that were not given");
    ++next;
  }
  return rest;
}

/// Parses the options of all subcommands, without check() and run().
void parse_subcommands(std::vector<std::string> arguments) {
  CLI::App weft;
  weft.require_subcommand(1);
  std::vector<std::unique_ptr<app::Subcommand>> all;
  for (auto* make : {app::make_demo, app::make_info, app::make_bench, app::make_selftest}) {
    all.push_back(make());
    all.back()->declare(weft);
  }
  std::reverse(arguments.begin(), arguments.end());
  try {
    weft.parse(std::move(arguments));
  } catch (const CLI::ParseError&) {
  }
}

void parse_bench(std::vector<std::string> arguments) {
  CLI::App weft;
  bench::OptionTexts texts;
  CLI::App* bench = bench::declare_options(weft, texts);
  std::reverse(arguments.begin(), arguments.end());
  try {
    bench->parse(std::move(arguments));
    const bench::Options options = bench::parse_options(texts);
    expect(options.what != nullptr, "no benchmark");
    expect(!options.sizes.empty() && std::is_sorted(options.sizes.begin(), options.sizes.end()),
           "sizes out of order");
  } catch (const CLI::ParseError&) {
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> arguments = lines_of(faults::as_text(data, size));
  take(arguments, detail::Help::of_launch);
  const std::vector<std::string> rest = take(arguments, detail::Help::of_program);
  parse_subcommands(rest);
  if (!rest.empty() && rest.front() == "bench") parse_bench({rest.begin() + 1, rest.end()});
  return 0;
}
