#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include "arguments.hpp"
#include "selftest/catalogue.hpp"
#include "subcommand.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <map>

namespace weft::app {
namespace {

/// The smallest extent that the options in the catalogue allow.
constexpr index_t smallest_extent = 4;

struct NamedLayout {
  std::string name;
  Layout layout;
};

std::vector<NamedLayout> layouts_of(const Comm& world, const Shape& shape) {
  const auto on_device = [&](const Layout& layout) { return layout.on(world.device()); };
  return {{"rows", on_device(Layout::scatter(world, shape))},
          {"last axis", on_device(Layout::scatter(world, shape, shape.ndim() - 1))},
          {"bricks", on_device(Layout::bricks(world, shape))},
          {"replicated", on_device(Layout::replicated(world, shape))}};
}

/// The result of one operator over all layouts.
struct Row {
  int tests = 0;
  double worst = 0;
  double tolerance = 0;
  std::string failed;  // layouts
};

class SelfTest final : public Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override {
    CLI::App* app = weft.add_subcommand(
        "selftest", "Runs the dot test over all operators, on this machine, transport and device");
    app->add_option("--shape", shape_texts_,
                    fmt::format("extents of the arrays, 1 to {} of at least {} (default 11,9,13)",
                                max_dims, smallest_extent))
        ->type_name("N,...");
    return app;
  }

  void check() override {
    shape_ = Shape(Index(parse_shape(
        "selftest: --shape", fmt::format("{}", fmt::join(shape_texts_, ",")), smallest_extent)));
  }

  int run(const Comm& world) const override {
    const Route route = world.route(world.device());
    print(world, "# weft {} selftest: {} ranks on {}, arrays of {} on {} (route: {})\n", version(),
          world.size(), world.transport(), to_string(shape_), to_string(world.device()),
          route.name);
    print(world,
          "# error: |<A x, y> - <x, A^H y>| over the larger of |A x| |y| and |x| |A^H y|, or, if "
          "intermediate results cancel, over their size; on the worst layout\n");
    print(world, "{:<28}{:>6}{:>8}{:>12}{:>12}\n", "operator", "type", "tests", "error", "allowed");
    int failed = 0;
    failed += run_type<float>(world);
    failed += run_type<double>(world);
    failed += run_type<std::complex<float>>(world);
    failed += run_type<std::complex<double>>(world);
    print(world, "{}\n", failed == 0 ? "all passed" : fmt::format("{} FAILED", failed));
    return failed == 0 ? 0 : 1;
  }

 private:
  template <Scalar T>
  int run_type(const Comm& world) const {
    std::vector<std::string> order;
    std::map<std::string, Row> rows;
    for (const auto& [layout_name, layout] : layouts_of(world, shape_)) {
      test_catalogue<T>(
          layout, [&, &on = layout_name](const std::string& name, const DotTestResult& result) {
            if (!rows.contains(name)) order.push_back(name);
            Row& row = rows[name];
            ++row.tests;
            row.worst = std::max(row.worst, result.error);
            row.tolerance = result.tolerance;
            if (!result.passed()) row.failed += " " + on;
          });
    }
    int failed = 0;
    for (const std::string& name : order) {
      const Row& row = rows[name];
      if (!row.failed.empty()) ++failed;
      print(world, "{:<28}{:>6}{:>8}{:>12.1e}{:>12.1e}{}\n", name, to_string(dtype_of<T>),
            row.tests, row.worst, row.tolerance,
            row.failed.empty() ? "" : "  FAILED on" + row.failed);
    }
    return failed;
  }

  /// Separated by commas or spaces.
  std::vector<std::string> shape_texts_ = {"11,9,13"};
  Shape shape_;
};

}  // namespace

std::unique_ptr<Subcommand> make_selftest() { return std::make_unique<SelfTest>(); }

}  // namespace weft::app
