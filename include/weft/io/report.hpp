#pragma once

#include <weft/io/picture.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// A 2-D array in a report, with its axes and a colour bar.
struct ReportPicture {
  std::string caption;
  /// Row by row, the first one on top.
  std::vector<double> values;
  index_t rows = 0;
  index_t columns = 0;
  std::string x_axis;
  std::string y_axis;
  PictureOptions options = {};
  /// What the first and the last column (row) stand for; their numbers unless given.
  std::optional<Limits> x_range = std::nullopt;
  std::optional<Limits> y_range = std::nullopt;
};

struct CurveSeries {
  std::string name;
  std::vector<double> y;
  /// 0, 1, 2, ... unless given.
  std::vector<double> x = {};
};

enum class AxisScale : std::uint8_t { linear, logarithmic };

/// Curves in one frame. A line is broken where a number is not finite, or not positive on a
/// logarithmic axis.
struct ReportCurves {
  std::string caption;
  std::string x_axis;
  std::string y_axis;
  std::vector<CurveSeries> series;
  AxisScale y_scale = AxisScale::linear;
};

/// Builds one HTML file from top to bottom, with everything in it that it shows: it opens without a
/// network, on a phone, and prints well. Texts are plain; what is special in HTML is escaped.
class HtmlReport {
 public:
  explicit HtmlReport(std::string title);

  /// Level 1 for a chapter, 2 and 3 below it.
  void heading(std::string_view text, int level = 1);
  void paragraph(std::string_view text);
  /// The first row is the head. Numbers are aligned to the right.
  void table(const std::vector<std::vector<std::string>>& rows);
  void picture(const ReportPicture& picture) { pictures({&picture, 1}); }
  /// Side by side, as far as there is room.
  void pictures(std::span<const ReportPicture> pictures);
  void curves(const ReportCurves& curves);

  std::string html() const;
  /// To a new file, which then takes the place of one that is there.
  void write(const std::string& path) const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace weft
