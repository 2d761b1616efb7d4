// Sparse deconvolution: traces are a few reflections convolved with a wavelet. Least squares smears
// each reflection; a penalty on the 1-norm (FISTA) recovers their positions.

#include <weft/weft.hpp>

#include "demo/demo.hpp"
#include "demo/report_parts.hpp"
#include "demo/sections.hpp"
#include "demo/timed_operator.hpp"
#include "demo/wavelet.hpp"

#include <cmath>
#include <numbers>

namespace weft::app {

DemoResult run_reflectivity(const Comm& world, const DemoOptions& options, HtmlReport& report) {
  const Shape shape{options.shape[0], options.shape[1], 1};
  const Layout layout = Layout::scatter(world, shape).on(world.device());
  DistributedArray<double> truth(layout);
  truth.fill([&](const Index& at) {
    const double x = static_cast<double>(at[0]) / static_cast<double>(shape[0]);
    const auto n = static_cast<double>(shape[1]);
    const std::pair<double, double> reflectors[] = {{0.15 + 0.05 * x, 1.0},
                                                    {0.3 - 0.03 * x, -0.6},
                                                    {0.45 + 0.04 * std::sin(6 * x), 0.8},
                                                    {0.62 + 0.1 * x * x, -0.5},
                                                    {0.8, 0.7}};
    for (const auto& [depth, amplitude] : reflectors) {
      if (at[1] == static_cast<index_t>(depth * n)) return amplitude;
    }
    return 0.0;
  });
  const index_t half = std::min<index_t>(20, shape[1] / 2);
  OperatorTimes times;
  const auto wavelet = times.timed(
      "wavelet", convolve1d<double>(layout, ricker(half, 0.08), {.offset = half, .axis = 1}));
  DistributedArray<double> data = wavelet * truth;
  add_noise(data, options.noise);

  SolverOptions solver;
  solver.max_iterations = options.iterations.value_or(300);
  solver.relative_tolerance = 1e-4;
  solver.progress = options.progress;
  print(world, "least squares\n");
  const Solution<double> spread = cgls(wavelet, data, solver, {.damp = 0.1});
  print(world, "sparse\n");
  const Solution<double> sparse = fista(wavelet, data, solver, {.eps = 0.2});
  const double spread_error = relative_error(spread.x, truth);
  const double sparse_error = relative_error(sparse.x, truth);
  print(world, "relative error: least squares {:.4f}, sparse {:.4f}\n", spread_error, sparse_error);

  const PictureOptions diverging{.colors = ColorMap::diverging, .limits = {}};
  const auto show = [&](const std::string& caption, const DistributedArray<double>& x) {
    return picture_of(caption, section(x, 2, 0, true), "trace", "time", diverging);
  };
  report.heading("Reflections");
  report.paragraph(fmt::format("{} traces of {} samples, with noise of {:g} of the data.", shape[0],
                               shape[1], options.noise));
  report.pictures(std::vector{show("truth", truth), show("data", data)});
  report.pictures(std::vector{show("least squares", spread.x), show("FISTA", sparse.x)});
  report.heading("Convergence");
  report.curves({.caption = "Norm of the data residual",
                 .x_axis = "iteration",
                 .y_axis = "|d - W r|",
                 .series = {residuals_of("least squares", spread.history),
                            residuals_of("FISTA", sparse.history)},
                 .y_scale = AxisScale::logarithmic});
  add_operator_times(report, times);
  return {.checks = {{"relative error of the sparse reflections", sparse_error, 0.3},
                     {"the same, over that of least squares", sparse_error / spread_error, 0.3}},
          .reached_limit = limit_reached(sparse)};
}

}  // namespace weft::app
