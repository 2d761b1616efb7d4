#include "report/plot.hpp"

#include <weft/core/error.hpp>

#include "report/html.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace weft::app {
namespace {

constexpr double plot_width = 760;
constexpr double plot_height = 380;

/// The frame around the curves; tick labels and axis names are outside.
namespace frame {
constexpr double left = 76;
constexpr double right = plot_width - 16;
constexpr double top = 14;
constexpr double bottom = plot_height - 54;
}  // namespace frame

/// Colours and dashes repeat with different periods, so that curves also differ without colour.
constexpr std::array<std::string_view, 6> line_colors = {"#1f5fbf", "#cf3f4f", "#1f8a5b",
                                                         "#7d4fb0", "#d07f12", "#3a3f47"};
constexpr std::array<std::string_view, 4> line_dashes = {"none", "8 4", "2 3", "10 3 2 3"};
/// Curves with at most this many points show them as dots.
constexpr std::size_t few_points = 30;

struct Tick {
  double at;
  std::string label;  // in SVG
};

/// One axis: a range of values (of their logarithms on a logarithmic axis) and its pixels.
struct PlotAxis {
  bool logarithmic = false;
  Limits range = {};
  double begin = 0;
  double end = 0;
  std::vector<Tick> ticks = {};

  bool shows(double value) const {
    // Differences of larger values overflow.
    return std::abs(value) < 1e300 && (!logarithmic || value > 0);
  }
  double position(double value) const { return place(logarithmic ? std::log10(value) : value); }
  /// The pixel of a value in `range`.
  double place(double number) const {
    return begin + (end - begin) * (number - range.low) / (range.high - range.low);
  }
};

/// 1, 2 or 5 times a power of ten that divides a range into about `count` steps.
double nice_step(const Limits& range, int count) {
  const double rough = (range.high - range.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= 0.999 * rough) return factor * power;
  }
  return 10 * power;
}

/// With the decimals that steps need; in scientific notation for very small and very large values.
std::string tick_label(double value, double largest, double step) {
  if (largest < 1e6 && step > 1e-5) {
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    return fmt::format("{:.{}f}", value, decimals);
  }
  const int digits = static_cast<int>(std::log10(largest / step)) + 2;
  return fmt::format("{:.{}g}", value, std::min(digits, 15));
}

void add_linear_ticks(PlotAxis& axis, double step) {
  const double largest = std::max(std::abs(axis.range.low), std::abs(axis.range.high));
  const double slack = 1e-9;  // of a step, for rounding errors
  const double last = std::floor(axis.range.high / step + slack);
  for (double i = std::ceil(axis.range.low / step - slack); i <= last; ++i) {
    const double value = i * step + 0.0;  // turns -0 into 0
    axis.ticks.push_back({value, tick_label(value, largest, step)});
  }
}

void add_decades(PlotAxis& axis) {
  const int first = static_cast<int>(axis.range.low);
  const int last = static_cast<int>(axis.range.high);
  const int step = (last - first + 7) / 8;
  for (int decade = first; decade <= last; decade += step) {
    axis.ticks.push_back({static_cast<double>(decade),
                          fmt::format(R"(10<tspan dy="-5" font-size="10">{}</tspan>)", decade)});
  }
}

/// From the smallest to the largest value; wider if they are nearly equal, so that ticks differ.
Limits range_of(const std::vector<double>& values) {
  if (values.empty()) return {0, 1};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double largest = std::max(std::abs(*low), std::abs(*high));
  if (*high - *low > std::max(1e-9 * largest, 1e-290)) return {*low, *high};
  const double around = largest == 0 ? 1 : std::max(largest / 2, 1e-280);
  return {*low - around, *high + around};
}

/// The whole decades that contain the values.
void set_decades(PlotAxis& axis, const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  axis.range = values.empty() ? Limits{0, 1}
                              : Limits{std::floor(std::log10(*low)), std::ceil(std::log10(*high))};
  if (axis.range.low == axis.range.high) axis.range.high += 1;
  add_decades(axis);
}

PlotAxis make_x_axis(const std::vector<double>& values, AxisScale scale) {
  PlotAxis axis{
      .logarithmic = scale == AxisScale::logarithmic, .begin = frame::left, .end = frame::right};
  if (axis.logarithmic) {
    set_decades(axis, values);
  } else {
    axis.range = range_of(values);
    add_linear_ticks(axis, nice_step(axis.range, 8));
  }
  return axis;
}

/// Has a tick at both ends.
PlotAxis make_y_axis(const std::vector<double>& values, AxisScale scale) {
  PlotAxis axis{
      .logarithmic = scale == AxisScale::logarithmic, .begin = frame::bottom, .end = frame::top};
  if (axis.logarithmic) {
    set_decades(axis, values);
  } else {
    axis.range = range_of(values);
    const double step = nice_step(axis.range, 6);
    axis.range = {step * std::floor(axis.range.low / step + 1e-9),
                  step * std::ceil(axis.range.high / step - 1e-9)};
    add_linear_ticks(axis, step);
  }
  return axis;
}

std::string draw_grid(const PlotAxis& x, const PlotAxis& y) {
  std::string svg;
  for (const Tick& tick : x.ticks) {
    const double at = x.place(tick.at);
    svg +=
        fmt::format(R"(<path class="grid" d="M{0:.1f} {1}V{2}"/>)", at, frame::top, frame::bottom);
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", at,
                       frame::bottom + 18, tick.label);
    svg += '\n';
  }
  for (const Tick& tick : y.ticks) {
    const double at = y.place(tick.at);
    svg +=
        fmt::format(R"(<path class="grid" d="M{0} {1:.1f}H{2}"/>)", frame::left, at, frame::right);
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", frame::left - 8,
                       at + 4.5, tick.label);
    svg += '\n';
  }
  svg += fmt::format(R"(<path class="frame" d="M{} {}V{}H{}"/>)", frame::left, frame::top,
                     frame::bottom, frame::right);
  return svg + '\n';
}

std::string draw_names(const ReportCurves& curves) {
  const double middle = (frame::top + frame::bottom) / 2;
  return fmt::format(
      "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text class=\"name\" x=\"16\" y=\"{}\" text-anchor=\"middle\" "
      "transform=\"rotate(-90 16 {})\">{}</text>\n",
      (frame::left + frame::right) / 2, plot_height - 12, escaped(curves.x_axis), middle, middle,
      escaped(curves.y_axis));
}

std::string line_style(std::size_t number) {
  return fmt::format(R"(fill="none" stroke="{}" stroke-width="2" stroke-dasharray="{}")",
                     line_colors[number % line_colors.size()],
                     line_dashes[number % line_dashes.size()]);
}

double x_of(const CurveSeries& series, std::size_t i) {
  return series.x.empty() ? static_cast<double>(i) : series.x[i];
}

std::size_t style_of(const std::vector<CurveSeries>& series, std::size_t i) {
  return series[i].style.value_or(i);
}

/// A line through the points; isolated points and those of short curves are dots.
std::string draw_series(const CurveSeries& series, std::size_t number, const PlotAxis& x,
                        const PlotAxis& y) {
  const auto shown = [&](std::size_t i) {
    return i < series.y.size() && x.shows(x_of(series, i)) && y.shows(series.y[i]);
  };
  std::string path;
  std::string dots;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!shown(i)) {
      pen_down = false;
      continue;
    }
    const double at_x = x.position(x_of(series, i));
    const double at_y = y.position(series.y[i]);
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', at_x, at_y);
    const bool alone = !pen_down && !shown(i + 1);
    if (alone || series.y.size() <= few_points) {
      dots += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>)", at_x, at_y,
                          line_colors[number % line_colors.size()]);
    }
    pen_down = true;
  }
  if (path.empty()) return {};
  return fmt::format("<path {} d=\"{}\"/>{}\n", line_style(number), path, dots);
}

std::string draw_legend(const std::vector<CurveSeries>& series) {
  std::string items;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].name.empty()) continue;
    items += fmt::format(
        "<li><svg width=\"34\" height=\"10\" aria-hidden=\"true\"><path {} d=\"M1 5H33\"/></svg>"
        "{}</li>\n",
        line_style(style_of(series, i)), escaped(series[i].name));
  }
  return items.empty() ? "" : "<ul class=\"legend\">\n" + items + "</ul>\n";
}

}  // namespace

std::string plot(const ReportCurves& curves) {
  for (const AxisScale scale : {curves.x_scale, curves.y_scale}) {
    require(scale == AxisScale::linear || scale == AxisScale::logarithmic,
            "HtmlReport::curves: there is no AxisScale number {}", static_cast<int>(scale));
  }
  std::vector<double> xs;
  std::vector<double> ys;
  const PlotAxis any_x{.logarithmic = curves.x_scale == AxisScale::logarithmic};
  const PlotAxis any_y{.logarithmic = curves.y_scale == AxisScale::logarithmic};
  for (const CurveSeries& series : curves.series) {
    require(series.x.empty() || series.x.size() == series.y.size(),
            "HtmlReport::curves: '{}' has {} numbers for x and {} for y", series.name,
            series.x.size(), series.y.size());
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (!any_x.shows(x_of(series, i)) || !any_y.shows(series.y[i])) continue;
      xs.push_back(x_of(series, i));
      ys.push_back(series.y[i]);
    }
  }
  const PlotAxis x = make_x_axis(xs, curves.x_scale);
  const PlotAxis y = make_y_axis(ys, curves.y_scale);
  std::string svg = fmt::format(
      "<div class=\"plot\"><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
      plot_width, plot_height, escaped(curves.caption));
  svg += draw_grid(x, y) + draw_names(curves);
  for (std::size_t i = 0; i < curves.series.size(); ++i)
    svg += draw_series(curves.series[i], style_of(curves.series, i), x, y);
  if (xs.empty()) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no points to draw</text>\n",
                       (frame::left + frame::right) / 2, (frame::top + frame::bottom) / 2);
  }
  return svg + "</svg></div>\n" + draw_legend(curves.series);
}

}  // namespace weft::app
