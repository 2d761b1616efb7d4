#include "demo/demo.hpp"

#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include "arguments.hpp"
#include "demo/report_parts.hpp"
#include "output_file.hpp"
#include "subcommand.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace weft::app {

const std::vector<Demo>& demos() {
  static const std::vector<Demo> all = {
      {"poststack",
       "3-D post-stack seismic inversion: plain, with a Laplacian, and with total variation",
       "NY,NX,NT",
       {32, 96, 160},
       0.1,
       run_poststack},
      {"derivative",
       "recovers an array from its derivative",
       "NY,NX",
       {512, 512},
       std::nullopt,
       run_derivative},
      {"mdd",
       "multi-dimensional deconvolution with an integral over receivers",
       "NR,NT",
       {60, 255},
       std::nullopt,
       run_mdd},
      {"reflectivity",
       "finds sparse reflections in traces by FISTA",
       "NX,NT",
       {64, 400},
       0.1,
       run_reflectivity},
  };
  return all;
}

std::optional<index_t> limit_reached(const Solution<double>& solution) {
  if (solution.reason != StopReason::iteration_limit) return std::nullopt;
  return solution.iterations;
}

namespace {

// A larger number is probably a typing error.
constexpr index_t most_iterations = 1'000'000'000;
constexpr index_t smallest_extent = 8;
constexpr double most_noise = 10;

std::string list_of_demos() {
  std::string text;
  for (const Demo& demo : demos()) {
    std::string extents;
    for (const index_t extent : demo.shape) {
      extents += fmt::format("{}{}", extents.empty() ? "" : ",", extent);
    }
    text +=
        fmt::format("  {:<13} {} (--shape {}: {})\n", demo.name, demo.summary, demo.axes, extents);
  }
  return text;
}

/// The names of those demos that `is_wanted` accepts.
std::string names_of_demos(bool (*is_wanted)(const Demo&)) {
  std::string names;
  for (const Demo& demo : demos()) {
    if (is_wanted(demo)) names += (names.empty() ? "" : ", ") + demo.name;
  }
  return names;
}

bool takes_noise(const Demo& demo) { return demo.noise.has_value(); }

/// The options on the command line.
struct DemoTexts {
  std::string name = demos().front().name;
  std::string shape;
  std::optional<std::string> iterations;
  std::optional<double> noise;
  std::optional<std::string> report;
  bool has_no_report = false;
  bool is_quiet = false;

  /// The options that the checks of a demo depend on.
  std::string given() const {
    std::string text;
    if (!shape.empty()) text += " --shape " + shape;
    if (iterations) text += " --iterations " + *iterations;
    if (noise) text += fmt::format(" --noise {:g}", *noise);
    return text;
  }
};

class DemoCommand final : public Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override {
    CLI::App* app = weft.add_subcommand(
        "demo",
        "Solves a problem with a known answer, checks the result and writes a report; `weft demo "
        "list` lists the demos");
    app->add_option("name", texts_.name, "which demo, or list")->capture_default_str();
    app->add_option("--shape", texts_.shape, "extents of the model, as in 32,96,160")
        ->type_name("N,...");
    app->add_option("--iterations", texts_.iterations,
                    "limit for each inversion; each demo has its own default")
        ->type_name("N");
    app->add_option("--noise", texts_.noise,
                    fmt::format("noise relative to the data; for {} (default 0.1)",
                                names_of_demos(takes_noise)))
        ->type_name("X");
    app->add_option("--report", texts_.report, "file for the report (default report.html)")
        ->type_name("FILE");
    app->add_flag("--no-report", texts_.has_no_report, "write no report");
    app->add_flag("--quiet", texts_.is_quiet, "show no progress");
    app->footer("Demos:\n" + list_of_demos());
    return app;
  }

  void check() override {
    if (texts_.name == "list") {
      require(texts_.given().empty() && !texts_.report && !texts_.has_no_report,
              "demo list takes no options of demos");
      return;
    }
    const auto found = std::find_if(demos().begin(), demos().end(),
                                    [&](const Demo& demo) { return demo.name == texts_.name; });
    if (found == demos().end()) {
      refuse("unknown demo '{}'; demos are {}", texts_.name,
             names_of_demos([](const Demo&) { return true; }));
    }
    demo_ = &*found;
    check_shape();
    check_iterations();
    check_noise();
    require(!texts_.report || !texts_.has_no_report, "demo: use --report or --no-report, not both");
    if (texts_.report) require_file_name("demo: --report", *texts_.report);
    report_ = texts_.has_no_report ? "" : texts_.report.value_or("report.html");
    options_.progress = !texts_.is_quiet;
  }

  int run(const Comm& world) const override {
    if (demo_ == nullptr) {
      print(world, "{}", list_of_demos());
      return 0;
    }
    if (!report_.empty()) require_writable(world, report_, Target::regular_file);
    const auto start = std::chrono::steady_clock::now();
    HtmlReport report("weft demo " + demo_->name + ": " + demo_->summary);
    report.paragraph(fmt::format("weft {}, {} ranks on {}, arrays on {}.", version(), world.size(),
                                 world.transport(), to_string(world.device())));
    world.time_calls(true);  // the report has a table of them
    const DemoResult result = demo_->run(world, options_, report);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const Check& check : result.checks) {
      print(world, "{} {:<58} {:.4g} < {:.4g}\n", check.passed() ? "ok  " : "FAIL", check.what,
            check.value, check.limit);
    }
    write(world, report, result, seconds);
    const auto failed = std::count_if(result.checks.begin(), result.checks.end(),
                                      [](const Check& check) { return !check.passed(); });
    const std::string see = report_.empty() ? "" : "; see " + report_;
    if (failed == 0) {
      print(world, "all checks passed in {:.1f} s{}\n", seconds, see);
      return 0;
    }
    print(world, "{} of {} checks FAILED in {:.1f} s{}\n", failed, result.checks.size(), seconds,
          see);
    print(world, "{}", advice(result));
    return 1;
  }

 private:
  void check_shape() {
    options_.shape = demo_->shape;
    if (texts_.shape.empty()) return;
    options_.shape =
        parse_shape(fmt::format("demo {}: --shape", demo_->name), texts_.shape, smallest_extent);
    require(options_.shape.size() == demo_->shape.size(),
            "demo {}: --shape takes {} extents, {}; {} were given", demo_->name,
            demo_->shape.size(), demo_->axes, options_.shape.size());
  }

  void check_iterations() {
    if (!texts_.iterations) return;
    const std::string& text = *texts_.iterations;
    index_t iterations = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, iterations);
    require(error == std::errc() && stop == end && iterations >= 1 && iterations <= most_iterations,
            "demo {}: --iterations must be a whole number from 1 to {}, got '{}'", demo_->name,
            most_iterations, text);
    options_.iterations = iterations;
  }

  void check_noise() {
    options_.noise = texts_.noise.value_or(demo_->noise.value_or(0));
    require(!texts_.noise || takes_noise(*demo_),
            "demo {} uses exact data, so it takes no --noise; it is for {}", demo_->name,
            names_of_demos(takes_noise));
    require(options_.noise >= 0 && options_.noise <= most_noise,
            "demo {}: --noise must be from 0 to {}, got {}", demo_->name, most_noise,
            options_.noise);
  }

  /// Advice on checks that failed.
  std::string advice(const DemoResult& result) const {
    std::string text;
    if (result.reached_limit) {
      text += fmt::format(
          "a solver reached its limit of {} iterations before it converged: allow more with "
          "--iterations\n",
          *result.reached_limit);
    }
    const std::string given = texts_.given();
    if (!given.empty()) {
      text += fmt::format("the limits of the checks hold for the default options; this run had{}\n",
                          given);
    }
    return text;
  }

  void write(const Comm& world, HtmlReport& report, const DemoResult& result,
             double seconds) const {
    add_messages(report, world.stats());
    add_checks(report, result.checks);
    report.paragraph(fmt::format("It took {:.1f} seconds.", seconds));
    std::string failure;
    if (world.rank() == 0 && !report_.empty()) {
      try {
        report.write(report_);
      } catch (const std::exception& error) {
        failure = error.what();
      }
    }
    world.agree(failure);
  }

  DemoTexts texts_;
  DemoOptions options_;
  std::string report_;
  const Demo* demo_ = nullptr;
};

}  // namespace

std::unique_ptr<Subcommand> make_demo() { return std::make_unique<DemoCommand>(); }

}  // namespace weft::app
