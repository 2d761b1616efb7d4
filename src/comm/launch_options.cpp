#include "comm/launch_options.hpp"

#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "core/environment.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace weft::detail {
namespace {

// Enough for any job; a larger number is a mistake.
constexpr int max_ranks = 1'000'000;

constexpr const char* how_to_start =
    "Without a launcher, ranks are threads of one process. With an MPI launcher, they are\n"
    "processes:\n"
    "  mpirun -n 4 PROGRAM ...\n"
    "  srun -n 4 PROGRAM ...";

const std::map<std::string, CommChoice>& comm_choices() {
  static const std::map<std::string, CommChoice> choices = {{"auto", CommChoice::automatic},
                                                            {"fast", CommChoice::automatic},
                                                            {"self", CommChoice::self},
                                                            {"thread", CommChoice::thread},
                                                            {"mpi", CommChoice::mpi}};
  return choices;
}

std::string device_error(const std::string& text) {
  try {
    Device::parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string base_name(const char* path) {
  const std::string all = path == nullptr ? "" : path;
  return all.substr(all.find_last_of('/') + 1);
}

/// Removes all arguments from argv except `kept`, which is a subsequence of it.
void keep_arguments(int& argc, char** argv, const std::vector<std::string>& kept) {
  int count = std::min(argc, 1);
  auto next = kept.begin();
  for (int i = count; i < argc; ++i) {
    if (next == kept.end() || *next != argv[i]) continue;
    argv[count++] = argv[i];
    ++next;
  }
  argc = count;
  argv[argc] = nullptr;
}

/// CLI11 takes the next argument as the value of `--name=`; this refuses it for options of Weft.
void require_values(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument.empty() || argument.back() != '=') continue;
    const CLI::Option* option = app.get_option_no_throw(argument.substr(0, argument.size() - 1));
    require(option == nullptr, "{} needs a value after the '='", argument);
  }
}

/// The options as text.
struct OptionTexts {
  int ranks = 0;
  std::string comm = "auto";
  std::string device = "cpu";
};

void declare(CLI::App& app, OptionTexts& texts) {
  app.set_help_flag("");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--ranks", texts.ranks, "number of ranks (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, max_ranks).description(""));
  app.add_option("--comm", texts.comm,
                 "transport between ranks: auto (default), self, thread or mpi;\n"
                 "fast: auto, and GPU memory must take the route fast")
      ->type_name("KIND")
      ->check(CLI::IsMember(comm_choices()).description(""));
  app.add_option("--device", texts.device,
                 "device of arrays: cpu (default), debug, cuda (one GPU per rank) or cuda:N")
      ->type_name("DEVICE")
      ->check(CLI::Validator(device_error, ""));
}

}  // namespace

LaunchOptions take_options(int& argc, char** argv, Help help) {
  OptionTexts texts;
  bool asks_for_help = false;
  CLI::App app("Weft options of this program:", base_name(argv[0]));
  app.allow_extras();
  app.footer(variables_help() + "\n" + how_to_start);
  declare(app, texts);
  if (help == Help::of_launch) app.add_flag("--help", asks_for_help, "print this help and exit");

  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  require_values(app, arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    throw ArgumentError(error.what());
  }
  keep_arguments(argc, argv, app.remaining());
  LaunchOptions options;
  if (texts.ranks > 0) options.ranks = texts.ranks;
  options.comm = comm_choices().at(texts.comm);
  options.fast_route = texts.comm == "fast";
  options.device = Device::parse(texts.device);
  options.any_gpu = texts.device == "cuda";
  if (asks_for_help) options.help = app.help();
  return options;
}

}  // namespace weft::detail

std::string weft::launch_help() {
  detail::OptionTexts texts;
  CLI::App app;
  app.option_defaults()->group("Options of every Weft program");
  detail::declare(app, texts);
  const std::string options = CLI::Formatter().make_groups(&app, CLI::AppFormatMode::Normal);
  return options.substr(options.find_first_not_of('\n')) + "\n" + detail::variables_help() + "\n" +
         detail::how_to_start + "\n";
}
