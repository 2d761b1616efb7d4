#pragma once

#include <weft/io/report.hpp>

#include <string>

namespace weft::detail {

/// Curves as an <svg> element, and a list of their names.
std::string plot(const ReportCurves& curves);

}  // namespace weft::detail
