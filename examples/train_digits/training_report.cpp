#include "train_digits/training_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace digits {
namespace {

using weft::app::AxisScale;
using weft::app::CurveSeries;
using weft::app::HtmlReport;
using weft::app::ReportCurves;

/// Curves in which all y and x are equal become one, with all names: some methods compute the same
/// by definition.
void merge_equal(std::vector<CurveSeries>& series) {
  std::vector<CurveSeries> distinct;
  for (CurveSeries& each : series) {
    const auto equal = std::find_if(
        distinct.begin(), distinct.end(),
        [&](const CurveSeries& other) { return other.y == each.y && other.x == each.x; });
    if (equal == distinct.end()) {
      distinct.push_back(std::move(each));
    } else {
      equal->name += ", " + each.name;
    }
  }
  series = std::move(distinct);
}

CurveSeries loss_curve(const MethodRuns& runs, const std::function<double(const Progress&)>& x) {
  CurveSeries curve{.name = runs.method.name, .y = {}};
  for (const Progress& each : runs.mean_epochs()) {
    curve.x.push_back(x(each));
    curve.y.push_back(each.loss);
  }
  return curve;
}

/// The style of each method in all plots. Methods with losses of their own come first, so that
/// these differ most.
std::vector<std::size_t> styles_of(const std::vector<MethodRuns>& all) {
  const auto steps = [](const Progress& at) { return static_cast<double>(at.steps); };
  std::vector<std::vector<double>> losses;
  std::vector<std::size_t> first;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    losses.push_back(loss_curve(all[i], steps).y);
    const bool is_new =
        std::find(losses.begin(), losses.end() - 1, losses.back()) == losses.end() - 1;
    (is_new ? first : others).push_back(i);
  }
  first.insert(first.end(), others.begin(), others.end());
  std::vector<std::size_t> styles(all.size());
  for (std::size_t i = 0; i < first.size(); ++i) styles[first[i]] = i;
  return styles;
}

/// One curve per method that has one.
std::vector<CurveSeries> curves_of(
    const std::vector<MethodRuns>& all,
    const std::function<std::optional<CurveSeries>(const MethodRuns&)>& curve_of) {
  const std::vector<std::size_t> styles = styles_of(all);
  std::vector<CurveSeries> series;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::optional<CurveSeries> curve = curve_of(all[i])) {
      curve->style = styles[i];
      series.push_back(std::move(*curve));
    }
  }
  merge_equal(series);
  return series;
}

void add_losses(HtmlReport& report, const std::vector<MethodRuns>& all) {
  const auto by_steps = [](const MethodRuns& runs) {
    return loss_curve(runs, [](const Progress& at) { return static_cast<double>(at.steps); });
  };
  const auto by_words = [](const MethodRuns& runs) {
    return loss_curve(runs, [](const Progress& at) { return at.words; });
  };
  report.heading("Loss");
  report.curves({.caption = "Mean loss of the training set after each epoch, mean over the seeds.",
                 .x_axis = "steps",
                 .y_axis = "training loss",
                 .series = curves_of(all, by_steps),
                 .y_scale = AxisScale::logarithmic});
  report.curves({.caption = "The same over the words (indices and values) that a rank has sent or "
                            "received, mean over the ranks.",
                 .x_axis = "words",
                 .y_axis = "training loss",
                 .series = curves_of(all, by_words),
                 .y_scale = AxisScale::logarithmic,
                 .x_scale = AxisScale::logarithmic});
}

/// Steps per point of a curve: single steps would hide the lines of other methods.
std::size_t window_of(const Training& run) {
  return std::max<std::size_t>(1, run.steps.size() / 80);
}

/// Of the first seed; nothing if no step has a value.
std::optional<CurveSeries> step_curve(
    const MethodRuns& runs, const std::function<std::optional<double>(const StepRecord&)>& value) {
  if (!runs.method.options.error_feedback) return std::nullopt;
  const Training& run = runs.runs.front();
  const std::size_t window = window_of(run);
  CurveSeries curve{.name = runs.method.name, .y = {}};
  for (std::size_t first = 0; first + window <= run.steps.size(); first += window) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = first; i < first + window; ++i) {
      if (const std::optional<double> y = value(run.steps[i])) {
        sum += *y;
        ++count;
      }
    }
    if (count == 0) continue;
    curve.x.push_back(static_cast<double>(first));
    curve.y.push_back(sum / count);
  }
  if (curve.y.empty()) return std::nullopt;
  return curve;
}

/// Zeros are missing values: of dense calls, and of methods without thresholds.
std::optional<double> if_positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

/// A plot of one quantity over the steps.
void add_steps(HtmlReport& report, const std::vector<MethodRuns>& all, const std::string& name,
               const std::string& caption,
               const std::function<std::optional<double>(const StepRecord&)>& value) {
  ReportCurves curves{
      .caption = caption,
      .x_axis = "step",
      .y_axis = name,
      .series = curves_of(all, [&](const MethodRuns& runs) { return step_curve(runs, value); })};
  if (curves.series.empty()) return;
  curves.caption +=
      fmt::format(" First seed, mean over {} steps.", window_of(all.front().runs.front()));
  report.curves(curves);
}

void add_counts(HtmlReport& report, const std::vector<MethodRuns>& all) {
  report.heading("Counts");
  add_steps(report, all, "selected / k",
            "Elements that a rank selects, divided by k, mean over the ranks.",
            [](const StepRecord& at) { return if_positive(at.selected / at.k); });
  add_steps(report, all, "result / k",
            "Elements of the result, divided by k, of methods that count them. Where all that the "
            "ranks select is kept, there are up to k times the number of ranks.",
            [](const StepRecord& at) -> std::optional<double> {
              if (at.counts_result()) return at.result / at.k;
              return std::nullopt;
            });
}

void add_thresholds(HtmlReport& report, const std::vector<MethodRuns>& all) {
  report.heading("Thresholds");
  add_steps(report, all, "threshold of a rank",
            "A rank selects elements of gradient and residual from this magnitude on, mean over "
            "the ranks.",
            [](const StepRecord& at) { return if_positive(at.local_threshold); });
  add_steps(report, all, "threshold of sums",
            "Sums over the ranks are kept from this magnitude on.",
            [](const StepRecord& at) { return if_positive(at.global_threshold); });
}

void add_checks(HtmlReport& report, const std::vector<Check>& checks) {
  std::vector<std::vector<std::string>> rows = {{"check", "value", "limit", "passed"}};
  for (const Check& check : checks) {
    rows.push_back({check.what, fmt::format("{:.3f}", check.value),
                    fmt::format("{} {:g}", check.at_most ? "at most" : "at least", check.limit),
                    check.passed() ? "yes" : "NO"});
  }
  report.heading("Checks");
  report.table(rows);
}

}  // namespace

void add_results(HtmlReport& report, const std::vector<MethodRuns>& all,
                 const std::vector<Check>& checks) {
  report.heading("Results");
  report.table(table_of(summaries(all)));
  add_losses(report, all);
  add_counts(report, all);
  add_thresholds(report, all);
  add_checks(report, checks);
}

}  // namespace digits
