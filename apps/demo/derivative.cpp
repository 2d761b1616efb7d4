// The smallest demo: recovers an array from its derivative along the first axis. A constant added
// to a column does not change the data. CGLS from zero finds the solution whose columns have zero
// mean, as those of the true array have.

#include <weft/weft.hpp>

#include "demo/demo.hpp"
#include "demo/report_parts.hpp"
#include "demo/sections.hpp"
#include "demo/timed_operator.hpp"

#include <cmath>
#include <numbers>

namespace weft::app {

DemoResult run_derivative(const Comm& world, const DemoOptions& options, HtmlReport& report) {
  const Shape shape{options.shape[0], options.shape[1], 1};
  const Layout layout = Layout::scatter(world, shape).on(world.device());
  DistributedArray<double> truth(layout);
  truth.fill([&](const Index& at) {
    const auto wave = [&](int axis, int count) {
      return std::cos(std::numbers::pi * count * (static_cast<double>(at[axis]) + 0.5) /
                      static_cast<double>(shape[axis]));
    };
    double sum = 0;  // of waves with zero mean along the first axis
    for (int k = 1; k <= 12; ++k) sum += wave(0, k) * wave(1, k * k / 2) / k;
    return sum;
  });
  OperatorTimes times;
  const auto derivative =
      times.timed("first_derivative",
                  first_derivative<double>(layout, {.axis = 0, .kind = DerivativeKind::forward}));
  const DistributedArray<double> data = derivative * truth;

  SolverOptions solver;
  solver.max_iterations = options.iterations.value_or(2 * shape[0]);
  solver.relative_tolerance = 1e-10;
  solver.progress = options.progress;
  const Solution<double> solution = cgls(derivative, data, solver);

  const double error = relative_error(solution.x, truth);
  print(world, "{} after {} iterations: {}\n", to_string(solution.reason), solution.iterations,
        solution.message);
  report.heading("Model");
  const std::vector<ReportPicture> pictures = {
      picture_of("truth", section(truth, 2, 0), "x", "y"),
      picture_of("data: its derivative along y", section(data, 2, 0), "x", "y"),
      picture_of("found from the data", section(solution.x, 2, 0), "x", "y")};
  report.pictures(pictures);
  report.heading("Convergence");
  report.curves({.caption = "Norm of the data residual",
                 .x_axis = "iteration",
                 .y_axis = "|y - A x|",
                 .series = {residuals_of("cgls", solution.history)},
                 .y_scale = AxisScale::logarithmic});
  add_operator_times(report, times);
  return {.checks = {{"relative error of the array", error, 1e-6}},
          .reached_limit = limit_reached(solution)};
}

}  // namespace weft::app
