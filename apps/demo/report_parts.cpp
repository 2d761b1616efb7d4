#include "demo/report_parts.hpp"

#include <fmt/format.h>

namespace weft::app {
namespace {

std::string per_call(double seconds, index_t calls) {
  return calls == 0 ? "" : fmt::format("{:.3f}", 1e3 * seconds / static_cast<double>(calls));
}

}  // namespace

CurveSeries residuals_of(const std::string& name, const std::vector<SolverStatus>& history) {
  CurveSeries series{.name = name, .y = {}};
  for (const SolverStatus& each : history) {
    series.x.push_back(static_cast<double>(each.iteration));
    series.y.push_back(each.residual_norm);
  }
  return series;
}

void add_operator_times(HtmlReport& report, const OperatorTimes& times) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "forwards", "ms each", "adjoints", "ms each", "seconds"}};
  for (const auto& time : times.all()) {
    rows.push_back({time->name, std::to_string(time->forwards),
                    per_call(time->forward_seconds, time->forwards), std::to_string(time->adjoints),
                    per_call(time->adjoint_seconds, time->adjoints),
                    fmt::format("{:.3f}", time->forward_seconds + time->adjoint_seconds)});
  }
  report.heading("Time per operator", 2);
  report.paragraph("On rank 0, including the time it waited for other ranks.");
  report.table(rows);
}

void add_messages(HtmlReport& report, const Stats& stats) {
  std::vector<std::vector<std::string>> rows = {{"call", "calls", "messages", "bytes", "seconds"}};
  for (int kind = 0; kind < call_kinds; ++kind) {
    const CallStats& each = stats[static_cast<CallKind>(kind)];
    if (each.calls == 0) continue;
    rows.push_back({std::string(to_string(static_cast<CallKind>(kind))), std::to_string(each.calls),
                    std::to_string(each.messages), std::to_string(each.bytes),
                    fmt::format("{:.4f}", each.seconds)});
  }
  report.heading("Messages", 2);
  report.paragraph("On rank 0, on the communicator of all ranks.");
  report.table(rows);
}

void add_checks(HtmlReport& report, const std::vector<Check>& checks) {
  std::vector<std::vector<std::string>> rows = {{"check", "value", "limit", "passed"}};
  for (const Check& check : checks) {
    rows.push_back({check.what, fmt::format("{:.4g}", check.value),
                    fmt::format("{:.4g}", check.limit), check.passed() ? "yes" : "NO"});
  }
  report.heading("Checks", 2);
  report.table(rows);
}

}  // namespace weft::app
