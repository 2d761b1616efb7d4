// Multi-dimensional deconvolution: receivers record the down-going and the up-going waves of a
// source. The up-going wavefield d is the down-going wavefield G convolved in time with the
// response m of the ground below the receivers and integrated over them: d = G m. The inversion
// recovers m.

#include <weft/weft.hpp>

#include "demo/demo.hpp"
#include "demo/report_parts.hpp"
#include "demo/sections.hpp"
#include "demo/timed_operator.hpp"

#include <cmath>
#include <complex>
#include <numbers>

namespace weft::app {
namespace {

constexpr double dt = 0.004;
constexpr double dr = 10;
constexpr double velocity = 2000;

/// The arrival time, `distance` receivers away, of a wave that arrives at distance 0 at `time`.
double arrival(double time, double distance) { return std::hypot(time, distance * dr / velocity); }

/// A cosine taper over the highest 30 % of the frequencies.
double taper(index_t frequency, index_t count) {
  const double x = static_cast<double>(frequency) / static_cast<double>(count);
  return x < 0.7 ? 1 : std::pow(std::cos(std::numbers::pi / 2 * (x - 0.7) / 0.3), 2);
}

}  // namespace

DemoResult run_mdd(const Comm& world, const DemoOptions& options, HtmlReport& report) {
  const index_t receivers = options.shape[0];
  const index_t times_count = options.shape[1] | 1;  // odd: on both sides of zero
  const index_t time_zero = times_count / 2;
  const index_t frequencies = times_count / 4;
  const index_t source = receivers / 2;
  const double df = 1 / (dt * static_cast<double>(times_count));

  DistributedArray<std::complex<double>> kernel(
      Layout::scatter(world, {frequencies, receivers, receivers}).on(world.device()));
  kernel.fill([&](const Index& at) {
    const auto distance = static_cast<double>(at[1] - at[2]);
    const double f = df * static_cast<double>(at[0]);
    const auto wave = [&](double time, double width, double amplitude) {
      const double size = amplitude * std::exp(-0.5 * distance * distance / (width * width));
      return std::polar(size, -2 * std::numbers::pi * f * arrival(time, distance));
    };
    return taper(at[0], frequencies) / std::sqrt(static_cast<double>(times_count)) *
           (wave(0.02, 1, 1) + wave(0.08, 3, 0.15) + wave(0.15, 5, -0.05));
  });
  OperatorTimes times;
  const auto convolution =
      times.timed("mdc", mdc(kernel, {.nt = times_count, .nv = 1}, {.dt = 1, .dr = 1}));

  DistributedArray<double> truth(convolution.domain());
  truth.fill([&](const Index& at) {
    const double time = dt * static_cast<double>(at[0] - time_zero);
    const auto distance = static_cast<double>(at[1] - source);
    double sum = 0;
    for (const auto& [depth, amplitude] : {std::pair(0.1, 1.0), std::pair(0.25, -0.7)}) {
      const double x = std::numbers::pi * 20 * (time - arrival(depth, distance));
      sum += amplitude * (1 - 2 * x * x) * std::exp(-x * x) * std::exp(-std::pow(distance / 15, 2));
    }
    return sum;
  });
  const DistributedArray<double> data = convolution * truth;

  SolverOptions solver;
  solver.max_iterations = options.iterations.value_or(60);
  solver.relative_tolerance = 1e-8;
  solver.progress = options.progress;
  const Solution<double> solution = cgls(convolution, data, solver);
  const DistributedArray<double> crosscorrelation = adjoint(convolution) * data;

  print(world, "{} after {} iterations: {}\n", to_string(solution.reason), solution.iterations,
        solution.message);
  report.heading("Response of the ground");
  report.paragraph(
      fmt::format("{} receivers, {} times, {} frequencies.", receivers, times_count, frequencies));
  const PictureOptions diverging{.colors = ColorMap::diverging, .limits = {}};
  const auto show = [&](const std::string& caption, const DistributedArray<double>& x) {
    return picture_of(caption, section(x, 2, 0), "receiver", "time", diverging);
  };
  report.pictures(std::vector{show("truth", truth), show("data", data)});
  report.pictures(std::vector{show("cross-correlation (adjoint)", crosscorrelation),
                              show("deconvolution (inverse)", solution.x)});
  report.heading("Convergence");
  report.curves({.caption = "Norm of the data residual",
                 .x_axis = "iteration",
                 .y_axis = "|d - G m|",
                 .series = {residuals_of("cgls", solution.history)},
                 .y_scale = AxisScale::logarithmic});
  add_operator_times(report, times);
  return {.checks = {{"relative residual", solution.residual_norm / norm(data), 1e-3},
                     {"relative error of the response", relative_error(solution.x, truth), 0.05}},
          .reached_limit = limit_reached(solution)};
}

}  // namespace weft::app
