#pragma once

#include <weft/io/picture.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::app {

/// A 2-D array in a report, with its axes and a colour bar.
struct ReportPicture {
  std::string caption;
  /// Row by row, the first row on top.
  std::vector<double> values;
  index_t rows = 0;
  index_t columns = 0;
  std::string x_axis;
  std::string y_axis;
  PictureOptions options = {};
  /// The coordinates of the first and the last column (row); by default their indices.
  std::optional<Limits> x_range = std::nullopt;
  std::optional<Limits> y_range = std::nullopt;
};

struct CurveSeries {
  std::string name;
  std::vector<double> y;
  /// By default 0, 1, 2, ...
  std::vector<double> x = {};
  /// Curves of one style look the same, in other plots as well. By default the position.
  std::optional<std::size_t> style = std::nullopt;
};

enum class AxisScale : std::uint8_t { linear, logarithmic };

/// Curves in one frame. Lines are interrupted where a value is not finite, or not positive on a
/// logarithmic axis.
struct ReportCurves {
  std::string caption;
  std::string x_axis;
  std::string y_axis;
  std::vector<CurveSeries> series;
  AxisScale y_scale = AxisScale::linear;
  AxisScale x_scale = AxisScale::linear;
};

/// Builds a self-contained HTML file from top to bottom, for screens of any size and for printing.
/// Texts are plain: special characters of HTML are escaped. Without libpng, pictures are left out.
class HtmlReport {
 public:
  explicit HtmlReport(std::string title);

  /// Level 1 for a chapter, 2 and 3 below it.
  void heading(std::string_view text, int level = 1);
  void paragraph(std::string_view text);
  /// The first row is the header. Columns of numbers are right-aligned.
  void table(const std::vector<std::vector<std::string>>& rows);
  void picture(const ReportPicture& picture) { pictures({&picture, 1}); }
  /// Side by side where the page is wide enough.
  void pictures(std::span<const ReportPicture> pictures);
  void curves(const ReportCurves& curves);

  std::string html() const;
  /// Replaces a file, completely or not at all.
  void write(const std::string& path) const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace weft::app
