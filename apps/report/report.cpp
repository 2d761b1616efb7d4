#include "report/report.hpp"

#include <weft/core/error.hpp>
#include <weft/io/replace_file.hpp>

#include "report/html.hpp"
#include "report/plot.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace weft::app {
namespace {

#ifdef WEFT_WITH_PNG
constexpr bool has_png = true;
#else
constexpr bool has_png = false;
#endif

constexpr std::string_view style_sheet = R"(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 1100px; background: #fff; color: #1d232b;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { margin: 0 0 1.25rem; padding-bottom: .6rem; border-bottom: 2px solid #e3e7ec; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 2.4rem 0 .8rem; font-size: 1.4rem; }
h3 { margin: 1.8rem 0 .6rem; font-size: 1.15rem; }
h4 { margin: 1.4rem 0 .5rem; font-size: 1rem; }
p { margin: .6rem 0; max-width: 46rem; }
.scroll, .plot { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .94rem; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .9rem; border-bottom: 1px solid #e3e7ec; text-align: left; }
th { border-bottom: 2px solid #c4ccd6; white-space: nowrap; }
.number { text-align: right; }
figure { margin: 1.2rem 0; }
figcaption { margin-top: .5rem; color: #4b5563; font-size: .92rem; }
.row { display: flex; flex-wrap: wrap; gap: 1.8rem 2rem; margin: 1.6rem 0; }
.row figure { flex: 1 1 280px; max-width: 520px; min-width: 0; margin: 0; }
.axes { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: .25rem .5rem;
  font-size: .8rem; line-height: 1.2; color: #4b5563; }
.axes .x, .axes .y { display: flex; justify-content: space-between; gap: .5rem; }
.axes .x { grid-column: 2; }
.axes .y { writing-mode: vertical-rl; transform: rotate(180deg); }
.axes .data { display: block; width: 100%; image-rendering: pixelated; outline: 1px solid #c4ccd6; }
.bar { display: flex; flex-direction: column; gap: .2rem; min-width: 3.2rem; min-height: 4.5rem; }
.bar img { flex: 1 1 0; min-height: 0; width: 14px; outline: 1px solid #c4ccd6; }
.curves { max-width: 860px; }
.plot svg { display: block; width: 100%; min-width: 600px; font-size: 13px; fill: #3a424d; }
.plot .grid { stroke: #e3e7ec; }
.plot .frame { fill: none; stroke: #6b7480; }
.plot .name { font-size: 14px; fill: #1d232b; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: .4rem 0 0; padding: 0; list-style: none; font-size: .92rem; }
.legend svg { margin-right: .5rem; vertical-align: middle; }
@media print {
  body { padding: 0; font-size: 11pt; }
  h2, h3, h4 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
}
)";

bool is_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, value).ptr == end;
}

std::string image_tag(std::string_view png, std::string_view attributes) {
  return fmt::format("<img {} src=\"data:image/png;base64,{}\">", attributes, base64(png));
}

/// All colours, the last on top. An image, since browsers do not print backgrounds.
std::string color_bar(const Limits& limits, ColorMap colors) {
  constexpr int ends = 127;
  std::vector<double> values;
  for (int value = ends; value >= -ends; --value) values.push_back(value);
  const std::string png = png_picture(values, 2 * ends + 1, 1, {colors, Limits{-ends, ends}});
  return fmt::format("<div class=\"bar\"><span>{}</span>{}<span>{}</span></div>\n",
                     short_number(limits.high), image_tag(png, "alt=\"colour bar\""),
                     short_number(limits.low));
}

std::string axis_row(std::string_view kind, std::string_view name, double first, double last) {
  return fmt::format("<div class=\"{}\"><span>{}</span><span>{}</span><span>{}</span></div>\n",
                     kind, short_number(first), escaped(name), short_number(last));
}

std::string caption_of(const ReportPicture& picture) {
  return "<figcaption>" + escaped(picture.caption) + "</figcaption>\n</figure>\n";
}

std::string figure_of(const ReportPicture& picture) {
  if (!has_png) return "<figure>\n<p>(built without libpng)</p>\n" + caption_of(picture);
  const PictureOptions& options = picture.options;
  const std::string png = png_picture(picture.values, picture.rows, picture.columns, options);
  const auto last = [](index_t n) { return static_cast<double>(n - 1); };
  const Limits x = picture.x_range.value_or(Limits{0, last(picture.columns)});
  const Limits y = picture.y_range.value_or(Limits{0, last(picture.rows)});
  // Long and narrow arrays are stretched to fit on a page.
  const double shape = std::clamp(
      static_cast<double>(picture.columns) / static_cast<double>(picture.rows), 0.9, 3.0);

  std::string html = "<figure>\n<div class=\"axes\">\n";
  html += axis_row("y", picture.y_axis, y.high, y.low);  // from bottom to top
  html += image_tag(png, fmt::format(R"(class="data" alt="{}" style="aspect-ratio: {:.4f}")",
                                     escaped(picture.caption), shape));
  html += '\n';
  html += color_bar(picture_limits(picture.values, options), options.colors);
  html += axis_row("x", picture.x_axis, x.low, x.high);
  return html + "</div>\n" + caption_of(picture);
}

}  // namespace

HtmlReport::HtmlReport(std::string title) : title_(std::move(title)) {}

void HtmlReport::heading(std::string_view text, int level) {
  require(level >= 1 && level <= 3, "HtmlReport::heading: level must be 1, 2 or 3, got {}", level);
  body_ += fmt::format("<h{0}>{1}</h{0}>\n", level + 1, escaped(text));
}

void HtmlReport::paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", escaped(text));
}

void HtmlReport::table(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return;
  // Columns of numbers, some of which may be missing, are right-aligned, including the header.
  const auto holds_numbers = [&](std::size_t column) {
    return rows.size() > 1 && std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) {
             return column >= row.size() || row[column].empty() || is_number(row[column]);
           });
  };
  body_ += "<div class=\"scroll\"><table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string_view tag = i == 0 ? "th" : "td";
    body_ += "<tr>";
    for (std::size_t column = 0; column < rows[i].size(); ++column) {
      body_ +=
          fmt::format("<{0}{1}>{2}</{0}>", tag, holds_numbers(column) ? " class=\"number\"" : "",
                      escaped(rows[i][column]));
    }
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
}

void HtmlReport::pictures(std::span<const ReportPicture> pictures) {
  std::string figures;
  for (const ReportPicture& picture : pictures) figures += figure_of(picture);
  body_ += "<div class=\"row\">\n" + figures + "</div>\n";
}

void HtmlReport::curves(const ReportCurves& curves) {
  body_ += "<figure class=\"curves\">\n" + plot(curves) + "<figcaption>" + escaped(curves.caption) +
           "</figcaption>\n</figure>\n";
}

std::string HtmlReport::html() const {
  const std::string title = escaped(title_);
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<title>" + title + "</title>\n<style>";
  page += style_sheet;
  page += "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
  return page + body_ + "</body>\n</html>\n";
}

void HtmlReport::write(const std::string& path) const { replace_file(path, html()); }

}  // namespace weft::app
