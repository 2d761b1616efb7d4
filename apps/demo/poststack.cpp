// Post-stack seismic inversion: recovers the acoustic impedance of the ground from traces recorded
// at the surface. A trace is half the time derivative of the logarithm of the impedance, convolved
// with the wavelet of the source: d = 1/2 W D m. The data lack low and high frequencies. Therefore
// the inversions start from a smooth background model, and differ in their prior: none, a smooth
// model (Laplacian), or a layered model (total variation).

#include <weft/weft.hpp>

#include "demo/demo.hpp"
#include "demo/report_parts.hpp"
#include "demo/sections.hpp"
#include "demo/timed_operator.hpp"
#include "demo/wavelet.hpp"

#include <cmath>
#include <numbers>

namespace weft::app {
namespace {

/// A model of dipping and folded layers with a fault and a lens.
double log_impedance(const Shape& shape, const Index& at) {
  constexpr double layers[] = {7.6, 7.85, 7.7, 8.0, 7.9, 8.2, 8.05, 8.35};
  const auto part = [&](int axis) {
    return static_cast<double>(at[axis]) /
           static_cast<double>(std::max<index_t>(1, shape[axis] - 1));
  };
  const double y = part(0);
  const double x = part(1);
  const double depth = part(2);
  const double throw_of_fault = x > 0.55 + 0.2 * y ? 0.06 : 0;
  const double bend = 0.05 * std::sin(2 * std::numbers::pi * (0.8 * x + 0.5 * y));
  const double level = (depth - bend - 0.12 * x - throw_of_fault) * std::size(layers) * 1.1;
  const auto last = static_cast<double>(std::size(layers) - 1);
  const double value = layers[static_cast<std::size_t>(std::clamp(level, 0.0, last))];
  const double lens = std::pow((x - 0.3) / 0.12, 2) + std::pow((y - 0.5) / 0.35, 2) +
                      std::pow((depth - 0.5) / 0.05, 2);
  return lens < 1 ? value - 0.25 : value;
}

/// Gaussian smoothing along all axes, divided by the smoothed constant 1, so that values near the
/// edges keep their size.
DistributedArray<double> smoothed(const DistributedArray<double>& x,
                                  const std::vector<double>& widths) {
  const Layout& layout = x.layout();
  LinearOperator<double> smooth = identity<double>(layout);
  for (int axis = 0; axis < 3; ++axis) {
    const double width = widths[static_cast<std::size_t>(axis)];
    const auto half = static_cast<index_t>(3 * width);
    std::vector<double> bell;
    for (index_t i = -half; i <= half; ++i) {
      bell.push_back(std::exp(-0.5 * std::pow(static_cast<double>(i) / width, 2)));
    }
    smooth = convolve1d<double>(layout, bell, {.offset = half, .axis = axis}) * smooth;
  }
  DistributedArray<double> ones(layout);
  ones.fill(1.0);
  std::vector<double> values = (smooth * x).to_host();
  const std::vector<double> weights = (smooth * ones).to_host();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] /= weights[i];
  DistributedArray<double> result(layout);
  result.from_host(values);
  return result;
}

/// An inversion and its result.
struct Attempt {
  std::string name;
  Solution<double> solution;
  double error;
};

}  // namespace

DemoResult run_poststack(const Comm& world, const DemoOptions& options, HtmlReport& report) {
  const Shape shape{options.shape[0], options.shape[1], options.shape[2]};
  const Layout layout = Layout::scatter(world, shape).on(world.device());
  DistributedArray<double> truth(layout);
  truth.fill([&](const Index& at) { return log_impedance(shape, at); });

  const index_t half = std::min<index_t>(30, shape[2] / 2);
  OperatorTimes times;
  const auto wavelet = times.timed(
      "wavelet", convolve1d<double>(layout, ricker(half, 0.06), {.offset = half, .axis = 2}));
  const auto derivative =
      times.timed("derivative", first_derivative<double>(layout, {.axis = 2, .edge = true}));
  const auto modelling = 0.5 * (wavelet * derivative);

  DistributedArray<double> data = modelling * truth;
  add_noise(data, options.noise);
  const DistributedArray<double> background = smoothed(truth, {5, 8, 16});

  const auto solver_options = [&](index_t iterations) {
    SolverOptions result;
    result.max_iterations = options.iterations.value_or(iterations);
    result.relative_tolerance = 1e-6;
    result.progress = options.progress;
    return result;
  };
  std::vector<Attempt> attempts;
  const auto add = [&](const std::string& name, const auto& invert) {
    print(world, "{}\n", name);
    Solution<double> solution = invert();
    const double error = relative_error(solution.x, truth);
    attempts.push_back({name, std::move(solution), error});
  };
  add("plain least squares",
      [&] { return cgls(modelling, data, solver_options(60), {.x0 = background}); });
  const auto roughness = times.timed("Laplacian", laplacian<double>(layout, {.axes = {0, 1, 2}}));
  add("smooth: Laplacian", [&] {
    return regularized_inversion(modelling, data, {{roughness, 0.5}}, solver_options(60),
                                 {.x0 = background});
  });
  TotalVariationOptions<double> layers;
  layers.mu = 2e-3;
  layers.rho = 0.05;
  layers.x0 = background;
  add("layered: total variation",
      [&] { return total_variation(modelling, data, solver_options(60), layers); });

  const index_t middle = shape[0] / 2;
  const auto section_of = [&](const DistributedArray<double>& x) {
    return section(x, 0, middle, true);
  };
  const auto show = [&](const std::string& caption, const DistributedArray<double>& x,
                        const PictureOptions& how) {
    return picture_of(caption, section_of(x), "x", "time", how);
  };
  const PictureOptions one_scale{.colors = ColorMap::sequential,
                                 .limits = Limits{min(truth), max(truth)}};
  report.heading("Model and data");
  report.paragraph(fmt::format(
      "{} traces of {} samples, with noise of {:g} of the data; shown is the section y = {}. The "
      "model is the logarithm of the acoustic impedance.",
      shape[0] * shape[1], shape[2], options.noise, middle));
  report.pictures(std::vector{show("true model", truth, one_scale),
                              show("data", data, {.colors = ColorMap::diverging, .limits = {}}),
                              show("background: initial model", background, one_scale)});
  report.heading("Inverted models");
  std::vector<ReportPicture> pictures;
  std::vector<std::vector<std::string>> rows = {
      {"inversion", "iterations", "seconds", "|d - A m|", "relative error"}};
  rows.push_back({"background", "", "", fmt::format("{:.4g}", norm(modelling * background - data)),
                  fmt::format("{:.4f}", relative_error(background, truth))});
  for (const Attempt& each : attempts) {
    pictures.push_back(show(each.name, each.solution.x, one_scale));
    rows.push_back({each.name, std::to_string(each.solution.iterations),
                    fmt::format("{:.2f}", each.solution.seconds),
                    fmt::format("{:.4g}", norm(modelling * each.solution.x - data)),
                    fmt::format("{:.4f}", each.error)});
    print(world, "{:<28} {:>4} iterations {:>7.2f} s   relative error {:.4f}\n", each.name,
          each.solution.iterations, each.solution.seconds, each.error);
  }
  report.pictures(pictures);
  report.table(rows);
  report.heading("Convergence");
  report.curves({.caption = "Norm of the residual that is minimized",
                 .x_axis = "iteration",
                 .y_axis = "norm of the residual",
                 .series = {residuals_of(attempts[0].name, attempts[0].solution.history),
                            residuals_of(attempts[1].name, attempts[1].solution.history)},
                 .y_scale = AxisScale::logarithmic});
  report.curves({.caption = "Total variation: the distance of the model's gradient from its sparse "
                            "copy. Each iteration contains several conjugate gradient steps.",
                 .x_axis = "iteration",
                 .y_axis = "|G m - z|",
                 .series = {residuals_of(attempts[2].name, attempts[2].solution.history)},
                 .y_scale = AxisScale::logarithmic});
  add_operator_times(report, times);

  const double start = relative_error(background, truth);
  DemoResult result;
  result.checks = {
      {"error of the smooth model, over that of the background", attempts[1].error / start, 0.8},
      {"error of the layered model, over that of the background", attempts[2].error / start, 0.6},
      {"error of the layered model, over that of the smooth one",
       attempts[2].error / attempts[1].error, 0.9}};
  for (const Attempt& each : attempts) {
    if (const auto limit = limit_reached(each.solution)) result.reached_limit = limit;
  }
  return result;
}

}  // namespace weft::app
