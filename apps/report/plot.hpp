#pragma once

#include "report/report.hpp"

#include <string>

namespace weft::app {

/// Curves as an <svg> element with a legend.
std::string plot(const ReportCurves& curves);

}  // namespace weft::app
