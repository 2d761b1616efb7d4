#pragma once

#include <weft/comm/stats.hpp>
#include <weft/solve/solver.hpp>

#include "demo/demo.hpp"
#include "demo/timed_operator.hpp"
#include "report/report.hpp"

#include <string>
#include <vector>

namespace weft::app {

// Parts of the reports of all demos.

/// |y - A x| against the iterations of a solver.
CurveSeries residuals_of(const std::string& name, const std::vector<SolverStatus>& history);
void add_operator_times(HtmlReport& report, const OperatorTimes& times);
void add_messages(HtmlReport& report, const Stats& stats);
void add_checks(HtmlReport& report, const std::vector<Check>& checks);

}  // namespace weft::app
