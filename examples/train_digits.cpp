// Trains a small network on handwritten digits, with gradients averaged over the ranks by each
// method of SparseAllreduce, and writes a report:
//
//   train_digits --ranks 8
//   train_digits --ranks 8 --algorithm topk,oktopk --seeds 1 --device cuda
//   mpirun -n 4 train_digits --no-report

#include <weft/comm/launch.hpp>
#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "arguments.hpp"
#include "output_file.hpp"
#include "train_digits/results.hpp"
#include "train_digits/training_report.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace {

using namespace weft;
using namespace digits;

/// The methods without error feedback have this after their name.
constexpr std::string_view without_feedback = " without feedback";

struct Options {
  std::string data = WEFT_EXAMPLE_DATA "/digits.npy";
  std::string algorithms = "all";
  std::string lossy = "topk";
  double density = 0.01;
  bool has_slots = false;
  TrainingOptions training;
  int seeds = 5;
  std::string report = "report.html";
  std::string json;
  bool has_no_report = false;
  bool is_quiet = false;

  std::vector<Method> methods;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--algorithm", options.algorithms,
                 "algorithms of SparseAllreduce to compare with dense, as in topk,oktopk, or all")
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--without-feedback", options.lossy,
                 "algorithms to run without error feedback as well, or none")
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--density", options.density, "share of the gradient that is sent")
      ->type_name("X")
      ->capture_default_str();
  app.add_flag("--slots", options.has_slots,
               "messages of fixed capacity, as on GPUs; what does not fit stays in the residual");
  app.add_option("--epochs", options.training.epochs, "passes over the training set")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--batch", options.training.batch, "digits per rank and step")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--rate", options.training.rate, "learning rate")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--seeds", options.seeds, "runs per method, each with another start")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "the file of digits; examples/data/export-digits writes it")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--report", options.report, "file for the report")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--no-report", options.has_no_report, "write no report");
  app.add_option("--json", options.json, "file for the results as JSON")->type_name("FILE");
  app.add_flag("--quiet", options.is_quiet, "print only the checks");
}

/// All names but aliases: topkA is topk.
std::vector<std::string> all_algorithms() {
  std::vector<std::string> names = sparse_algorithms();
  names.erase(std::remove(names.begin(), names.end(), "topkA"), names.end());
  return names;
}

std::vector<std::string> names_in(const std::string& option, const std::string& text) {
  std::vector<std::string> names = app::split_list(option, text);
  const std::vector<std::string> known = sparse_algorithms();
  for (const std::string& name : names) {
    require(std::find(known.begin(), known.end(), name) != known.end(),
            "{}: unknown algorithm '{}'; algorithms are {}", option, name, fmt::join(known, ", "));
  }
  return names;
}

void check(Options& options) {
  const TrainingOptions& training = options.training;
  require(options.density > 0 && options.density <= 1,
          "--density must be above 0 and at most 1, got {}", options.density);
  require(training.epochs >= 1, "--epochs must be at least 1, got {}", training.epochs);
  require(training.batch >= 1, "--batch must be at least 1, got {}", training.batch);
  require(training.rate > 0 && training.rate <= 100,
          "--rate must be above 0 and at most 100, got {}", training.rate);
  require(options.seeds >= 1, "--seeds must be at least 1, got {}", options.seeds);
  app::require_file_name("--report", options.report);
  if (!options.json.empty()) app::require_file_name("--json", options.json);
  if (options.has_no_report) options.report.clear();

  const auto add = [&](const std::string& algorithm, bool feedback) {
    Method method{algorithm, {}};
    if (!feedback) method.name += without_feedback;
    method.options.algorithm = algorithm;
    method.options.density = options.density;
    method.options.error_feedback = feedback;
    if (options.has_slots) method.options.exchange = SparseExchange::slots;
    options.methods.push_back(std::move(method));
  };
  add("dense", true);
  const bool all = options.algorithms == "all";
  for (const auto& name : all ? all_algorithms() : names_in("--algorithm", options.algorithms)) {
    if (name != "dense") add(name, true);
  }
  if (options.lossy == "none") return;
  for (const auto& name : names_in("--without-feedback", options.lossy)) {
    require(name != "dense", "--without-feedback: dense sends everything and has no residual");
    add(name, false);
  }
}

std::string read(Options& options, std::vector<std::string> arguments) {
  app::require_values(arguments);
  CLI::App app(
      "Trains a network 64-128-64-10 on handwritten digits, on all ranks together, with each "
      "method of averaging sparse gradients, and compares them with the dense average",
      "train_digits");
  declare(app, options);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return app.help() + "\n" + launch_help();
  } catch (const CLI::ParseError& error) {
    throw ArgumentError(fmt::format("{}; see train_digits --help", error.what()));
  }
  check(options);
  return {};
}

MethodRuns run_method(const Comm& world, const Digits& digits, const Options& options,
                      Method method) {
  method.options.device = world.device();
  MethodRuns result{std::move(method), {}};
  for (int seed = 0; seed < options.seeds; ++seed) {
    result.runs.push_back(
        train(world, digits, result.method, options.training, static_cast<std::uint64_t>(seed)));
    const Progress& last = result.runs.back().last();
    if (options.is_quiet) continue;
    print(world, "{:<24} seed {}: test accuracy {:.2f} %, training loss {:.4f}, {:.1f} s\n",
          result.method.name, seed, 100 * last.accuracy, last.loss, result.runs.back().seconds);
  }
  return result;
}

void print_table(const Comm& world, const std::vector<std::vector<std::string>>& rows) {
  for (const auto& row : rows) {
    print(world, "{:<24}", row.front());
    for (std::size_t i = 1; i < row.size(); ++i) print(world, " {:>16}", row[i]);
    print(world, "\n");
  }
}

std::string html_of(const Comm& world, const Options& options, const std::vector<MethodRuns>& all,
                    const std::vector<Check>& checks) {
  app::HtmlReport report("Training with sparse gradients");
  report.paragraph(fmt::format(
      "A network 64-128-64-10 (17,226 weights) learns the 1797 handwritten digits of the UCI "
      "archive by stochastic gradient descent: rate {:g}, {} epochs, {} ranks with {} digits per "
      "step each, density {:g}, mean of {} seeds. All methods begin with the same weights.",
      options.training.rate, options.training.epochs, world.size(), options.training.batch,
      options.density, options.seeds));
  report.paragraph(fmt::format("weft {}, {} ranks on {}, arrays on {}.", version(), world.size(),
                               world.transport(), to_string(world.device())));
  if (options.has_slots) report.paragraph("Messages are slots of fixed capacity.");
  add_results(report, all, checks);
  return report.html();
}

int run(const Comm& world, const Options& options) {
  for (const std::string& file : {options.report, options.json}) {
    if (!file.empty()) app::require_writable(world, file, app::Target::regular_file);
  }
  const Digits digits = read_digits(world, options.data);
  std::vector<MethodRuns> all;
  for (const Method& method : options.methods)
    all.push_back(run_method(world, digits, options, method));

  const std::vector<Summary> results = summaries(all);
  const std::vector<Check> checks = checks_of(results);
  if (!options.is_quiet) print_table(world, table_of(results));
  for (const Check& each : checks) {
    print(world, "{} {:<52} {:.3f} {} {:g}\n", each.passed() ? "ok  " : "FAIL", each.what,
          each.value, each.at_most ? "<=" : ">=", each.limit);
  }
  if (!options.report.empty())
    app::write_file(world, options.report, html_of(world, options, all, checks));
  if (!options.json.empty()) {
    app::write_file(
        world, options.json,
        json_of(world, options.training, options.density, options.seeds, results, checks));
  }
  const auto failed =
      std::count_if(checks.begin(), checks.end(), [](const Check& each) { return !each.passed(); });
  if (failed > 0) {
    print(world, "{} of {} checks FAILED; their limits are for 8 ranks and the default options\n",
          failed, checks.size());
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Program program;
  program.read = [&](const std::vector<std::string>& arguments) {
    return read(options, arguments);
  };
  program.body = [&](const Comm& world) { return run(world, options); };
  return launch(argc, argv, program);
}
