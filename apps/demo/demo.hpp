#pragma once

// Problems with known answers that `weft demo` generates, solves and checks.

#include <weft/comm/comm.hpp>
#include <weft/solve/solver.hpp>

#include "report/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft::app {

struct DemoOptions {
  /// Shape of the model, with as many extents as that of the demo.
  std::vector<index_t> shape;
  /// Limit for each inversion; by default, that of the demo.
  std::optional<index_t> iterations;
  /// Relative to the data, for demos with noise.
  double noise = 0;
  bool progress = true;
};

/// A check of a result: it passes if `value` is below `limit`.
struct Check {
  std::string what;
  double value;
  double limit;

  bool passed() const { return value < limit; }  // false for NaN
};

/// The result of a demo.
struct DemoResult {
  std::vector<Check> checks;
  /// The iteration limit, if a solver reached it before it converged.
  std::optional<index_t> reached_limit;
};

/// The iteration limit, if the solver reached it before it converged.
std::optional<index_t> limit_reached(const Solution<double>& solution);

struct Demo {
  std::string name;
  std::string summary;
  /// Names of the model's axes for --shape, and their default extents.
  std::string axes;
  std::vector<index_t> shape;
  /// Default noise relative to the data; none in demos with exact data.
  std::optional<double> noise;
  /// Collective. Only the report of rank 0 is written.
  DemoResult (*run)(const Comm& world, const DemoOptions& options, HtmlReport& report);
};

/// The first one is the default.
const std::vector<Demo>& demos();

DemoResult run_poststack(const Comm& world, const DemoOptions& options, HtmlReport& report);
DemoResult run_derivative(const Comm& world, const DemoOptions& options, HtmlReport& report);
DemoResult run_mdd(const Comm& world, const DemoOptions& options, HtmlReport& report);
DemoResult run_reflectivity(const Comm& world, const DemoOptions& options, HtmlReport& report);

}  // namespace weft::app
