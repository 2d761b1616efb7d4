#include "demo/demo.hpp"

#include <weft/comm/info.hpp>
#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>

#include "demo/report_parts.hpp"
#include "subcommand.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>

namespace weft::app {

const std::vector<Demo>& demos() {
  static const std::vector<Demo> all = {
      {"poststack",
       "3-D post-stack seismic inversion: plain, smooth, and in layers",
       "NY,NX,NT",
       {32, 96, 160},
       run_poststack},
      {"derivative", "recovers an array from its derivative", "NY,NX", {512, 512}, run_derivative},
      {"mdd",
       "multi-dimensional deconvolution with an integral over receivers",
       "NR,NT",
       {60, 255},
       run_mdd},
      {"reflectivity",
       "finds sparse reflections in traces by FISTA",
       "NX,NT",
       {64, 400},
       run_reflectivity},
  };
  return all;
}

namespace {

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

std::string names_of_demos() {
  std::string names;
  for (const Demo& demo : demos()) names += (names.empty() ? "" : ", ") + demo.name;
  return names;
}

class DemoCommand final : public Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override {
    CLI::App* app = weft.add_subcommand(
        "demo",
        "Makes up a problem with a known answer, solves it, checks the result and writes a "
        "report; `weft demo list` tells which there are");
    app->add_option("name", name_, "which one, or list")->capture_default_str();
    app->add_option("--shape", options_.shape, "extents of the model, as in --shape 32,96,160")
        ->delimiter(',');
    app->add_option("--iterations", options_.iterations,
                    "of each inversion, at most; the demo's own number if not given");
    app->add_option("--noise", options_.noise,
                    "of the data, relative to them (poststack, reflectivity)")
        ->capture_default_str();
    app->add_option("--report", report_, "where to write the report; empty for none")
        ->capture_default_str();
    app->add_flag("--quiet", quiet_, "shows no progress");
    app->footer("Demos:\n" + list_of_demos());
    return app;
  }

  void check() override {
    if (name_ == "list") return;
    const auto found = std::find_if(demos().begin(), demos().end(),
                                    [&](const Demo& demo) { return demo.name == name_; });
    if (found == demos().end()) {
      refuse("there is no demo '{}'; there are {}", name_, names_of_demos());
    }
    demo_ = &*found;
    if (options_.shape.empty()) options_.shape = demo_->shape;
    require(options_.shape.size() == demo_->shape.size(),
            "demo {}: --shape takes {} extents, {}; {} were given", name_, demo_->shape.size(),
            demo_->axes, options_.shape.size());
    for (const index_t extent : options_.shape) {
      require(extent >= 8, "demo {}: an extent of {}; at least 8 are needed", name_, extent);
    }
    require(options_.iterations.value_or(1) >= 1, "demo {}: {} iterations; at least 1 is needed",
            name_, options_.iterations.value_or(1));
    require(options_.noise >= 0 && options_.noise < 10, "demo {}: a noise of {}; 0.1 is usual",
            name_, options_.noise);
    options_.progress = !quiet_;
  }

  int run(const Comm& world) const override {
    if (demo_ == nullptr) {
      print(world, "{}", list_of_demos());
      return 0;
    }
    const auto start = std::chrono::steady_clock::now();
    HtmlReport report("weft demo " + name_ + ": " + demo_->summary);
    report.paragraph(fmt::format("weft {}, {} ranks on {}, arrays on {}.", version(), world.size(),
                                 world.transport(), to_string(world.device())));
    const std::vector<Claim> claims = demo_->run(world, options_, report);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    bool all_hold = true;
    for (const Claim& claim : claims) {
      print(world, "{} {:<58} {:.4g} < {:.4g}\n", claim.holds() ? "ok  " : "FAIL", claim.what,
            claim.value, claim.limit);
      all_hold = all_hold && claim.holds();
    }
    add_messages(report, world.stats());
    add_claims(report, claims);
    report.paragraph(fmt::format("It took {:.1f} seconds.", seconds));
    std::string complaint;
    if (world.rank() == 0 && !report_.empty()) {
      try {
        report.write(report_);
      } catch (const std::exception& error) {
        complaint = error.what();
      }
    }
    world.agree(complaint);
    print(world, "{} in {:.1f} s{}\n", all_hold ? "all right" : "something is wrong", seconds,
          report_.empty() ? "" : "; see " + report_);
    return all_hold ? 0 : 1;
  }

 private:
  std::string name_ = demos().front().name;
  std::string report_ = "report.html";
  bool quiet_ = false;
  DemoOptions options_;
  const Demo* demo_ = nullptr;
};

}  // namespace

std::unique_ptr<Subcommand> make_demo() { return std::make_unique<DemoCommand>(); }

}  // namespace weft::app
