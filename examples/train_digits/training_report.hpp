#pragma once

#include <report/report.hpp>

#include "train_digits/results.hpp"

namespace digits {

/// Adds the table, the checks, and curves of loss, counts and thresholds.
void add_results(weft::app::HtmlReport& report, const std::vector<MethodRuns>& all,
                 const std::vector<Check>& checks);

}  // namespace digits
