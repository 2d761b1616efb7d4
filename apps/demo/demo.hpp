#pragma once

// Problems with a known answer that `weft demo` makes up, solves and checks.

#include <weft/comm/comm.hpp>
#include <weft/solve/solver.hpp>

#include "report/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft::app {

struct DemoOptions {
  /// Of the model; empty for the demo's own.
  std::vector<index_t> shape;
  /// Of each inversion; the demo's own if not given.
  std::optional<index_t> iterations;
  /// Relative to the data, in demos that take it.
  double noise = 0;
  bool progress = true;
};

/// What a demo claims about its result: `value` is below `limit`.
struct Claim {
  std::string what;
  double value;
  double limit;

  bool holds() const { return value < limit; }  // and not if it is NaN
};

/// The result of a demo.
struct DemoResult {
  std::vector<Claim> claims;
  /// The limit of iterations, if a solver stopped there before it converged.
  std::optional<index_t> reached_limit;
};

/// The limit of iterations, if the solver stopped there before it converged.
std::optional<index_t> limit_reached(const Solution<double>& solution);

struct Demo {
  std::string name;
  std::string summary;
  /// Names of the model's axes, as --shape takes them, and their default extents.
  std::string axes;
  std::vector<index_t> shape;
  /// Of the data, relative to them; none in demos that need exact data.
  std::optional<double> noise;
  /// Collective. Only what rank 0 adds to the report is kept.
  DemoResult (*run)(const Comm& world, const DemoOptions& options, HtmlReport& report);
};

/// The first one is run if none is named.
const std::vector<Demo>& demos();

DemoResult run_poststack(const Comm& world, const DemoOptions& options, HtmlReport& report);
DemoResult run_derivative(const Comm& world, const DemoOptions& options, HtmlReport& report);
DemoResult run_mdd(const Comm& world, const DemoOptions& options, HtmlReport& report);
DemoResult run_reflectivity(const Comm& world, const DemoOptions& options, HtmlReport& report);

}  // namespace weft::app
