#include "report/report.hpp"

#include <weft/core/error.hpp>

#include "io/folder.hpp"
#include "io/png_reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weft::app {
namespace {

using namespace weft::test;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

bool has(const std::string& text, std::string_view part) { return count(text, part) > 0; }

/// Tags and quotes are balanced, and `<`, `>` and `&` are escaped.
void expect_well_formed(const std::string& html) {
  std::vector<std::string> open;
  std::size_t at = html.find("<html");
  ASSERT_EQ(html.substr(0, at), "<!DOCTYPE html>\n");
  while (at < html.size()) {
    if (html[at] == '&') {
      const std::size_t end = html.find(';', at);
      ASSERT_LT(end - at, 7U) << html.substr(at, 20);
    }
    ASSERT_NE(html[at], '>') << html.substr(at - 20, 40);
    if (html[at++] != '<') continue;

    const bool closing = html[at] == '/';
    if (closing) ++at;
    const std::size_t name_end = html.find_first_of(" />", at);
    const std::string name = html.substr(at, name_end - at);
    ASSERT_FALSE(name.empty());
    bool quoted = false;
    for (at = name_end; quoted || html.at(at) != '>'; ++at) {
      if (html.at(at) == '"') quoted = !quoted;
      ASSERT_NE(html.at(at), '<') << html.substr(name_end, 40);
    }
    const bool is_void = html[at - 1] == '/' || name == "meta" || name == "img";
    ++at;
    if (closing) {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), name);
      open.pop_back();
    } else if (!is_void) {
      open.push_back(name);
    }
    if (name == "style" && !closing) at = html.find("</style", at);  // skips CSS
  }
  EXPECT_TRUE(open.empty());
}

std::string from_base64(std::string_view text) {
  const std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int pending = 0;
  EXPECT_EQ(text.size() % 4, 0U);
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    pending += 6;
    if (pending < 8) continue;
    pending -= 8;
    bytes += static_cast<char>(bits >> pending & 255U);
  }
  return bytes;
}

/// The pictures in a page, in order.
std::vector<std::string> images_in(const std::string& html) {
  std::vector<std::string> images;
  const std::string_view before = "src=\"data:image/png;base64,";
  for (std::size_t at = html.find(before); at != html.npos; at = html.find(before, at + 1)) {
    const std::size_t begin = at + before.size();
    images.push_back(
        from_base64(std::string_view(html).substr(begin, html.find('"', begin) - begin)));
  }
  return images;
}

ReportCurves one_curve(std::vector<double> y, AxisScale scale = AxisScale::linear) {
  return {"caption", "x name", "y name", {{"a curve", std::move(y)}}, scale};
}

std::string page_with(const ReportCurves& curves) {
  HtmlReport report("curves");
  report.curves(curves);
  return report.html();
}

}  // namespace

TEST(Report, is_one_page_with_all_parts) {
  HtmlReport report("The title");
  report.heading("Chapter");
  report.heading("Section", 2);
  report.heading("Paragraph", 3);
  report.paragraph("Some text.");
  report.table({{"solver", "steps", "residual"}, {"cgls", "12", "1.5e-7"}, {"ista", "-1"}});
  const ReportPicture picture{"first", {1, 2, 3, 4, 5, 6}, 2, 3, "across", "down", {}};
  ReportPicture other = picture;
  other.caption = "second";
  other.options = {ColorMap::diverging, Limits{-12.5, 12.5}};
  other.x_range = Limits{0.25, 7.75};
  const std::vector<ReportPicture> both = {picture, other};
  report.picture(picture);
  report.pictures(both);
  report.curves(one_curve({1, 2, 4}));

  const std::string html = report.html();
  expect_well_formed(html);
  for (const char* part : {"<title>The title</title>",
                           "<h1>The title</h1>",
                           "<h2>Chapter</h2>",
                           "<h3>Section</h3>",
                           "<h4>Paragraph</h4>",
                           "<p>Some text.</p>",
                           "<th>solver</th>",
                           "<td>cgls</td>",
                           "<th class=\"number\">steps</th>",
                           "<td class=\"number\">1.5e-7</td>",
                           "<figcaption>first</figcaption>",
                           "<figcaption>second</figcaption>",
                           "across",
                           "down",
                           "<span>12.5</span>",
                           "<span>-12.5</span>",
                           "<span>0.25</span>",
                           "<span>7.75</span>",
                           "<svg viewBox",
                           "x name",
                           "y name",
                           "a curve",
                           "width=device-width",
                           "@media print"}) {
    EXPECT_TRUE(has(html, part)) << part;
  }
  EXPECT_EQ(count(html, "<figure"), 4);
  EXPECT_EQ(count(html, "class=\"row\""), 2);
  // It is self-contained and has no scripts.
  for (const char* part : {"http", "://", "@import", "url(", "<script", "<link"}) {
    EXPECT_FALSE(has(html, part)) << part;
  }
}

TEST(Report, pictures_are_in_the_page) {
  HtmlReport report("pictures");
  const ReportPicture picture{"", {1, 2, 3, 4, 5, 6}, 2, 3, "", "", {ColorMap::gray}};
  report.picture(picture);
  const std::vector<std::string> images = images_in(report.html());
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[0], png_picture(picture.values, 2, 3, picture.options));
  const PngImage bar = read_png(images[1]);
  // All colours, the last on top.
  for (int i = 0; i < 255; ++i) {
    ASSERT_EQ(bar.at(i * (bar.height / 255), 0), 254 - i);
  }
}

TEST(Report, text_is_escaped) {
  const std::string bad = "<b>\"Tom\" & 'Jerry'</b>";
  const std::string good = "&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;";
  HtmlReport report(bad);
  report.heading(bad);
  report.paragraph(bad);
  report.table({{bad}, {bad}});
  report.picture({bad, {1}, 1, 1, bad, bad, {}});
  report.curves({bad, bad, bad, {{bad, {1, 2}}}});
  const std::string html = report.html();
  expect_well_formed(html);
  EXPECT_FALSE(has(html, "Tom\" &"));
  EXPECT_FALSE(has(html, "<b>"));
  // Title twice; heading, paragraph and two cells; axes, caption and description of a picture; the
  // same and one name of the curves.
  EXPECT_EQ(count(html, good), 2 + 1 + 1 + 2 + 4 + 5);
}

TEST(Report, logarithmic_axes_skip_values_that_are_not_positive) {
  const std::string html =
      page_with(one_curve({1, 0.1, 0, 1e-3, -5, 1e-4}, AxisScale::logarithmic));
  expect_well_formed(html);
  EXPECT_EQ(count(html, "<circle"), 4);
  // From 1 to 1e-4: five decades; the line is interrupted twice.
  for (const char* decade : {">0</tspan>", ">-1</tspan>", ">-4</tspan>"})
    EXPECT_TRUE(has(html, decade)) << decade;
  EXPECT_FALSE(has(html, ">-5</tspan>"));
  const std::size_t begin = html.find(" d=\"", html.find("stroke-dasharray"));
  const std::string line = html.substr(begin, html.find("/>", begin) - begin);
  EXPECT_EQ(count(line, "M"), 3);
  EXPECT_EQ(count(line, "L"), 1);
}

TEST(Report, logarithmic_x_axes_have_equal_decades) {
  ReportCurves curves{"", "", "", {{"", {1, 2, 3, 4}, {0, 10, 100, 1000}}}};
  curves.x_scale = AxisScale::logarithmic;
  const std::string html = page_with(curves);
  expect_well_formed(html);
  for (const char* decade : {">1</tspan>", ">2</tspan>", ">3</tspan>"})
    EXPECT_TRUE(has(html, decade)) << decade;
  // Without the point at 0, the others are at the left end, in the middle and at the right end.
  ASSERT_EQ(count(html, "<circle"), 3);
  std::vector<double> at;
  for (std::size_t begin = html.find("cx=\""); begin != html.npos;
       begin = html.find("cx=\"", begin + 1))
    at.push_back(std::stod(html.substr(begin + 4)));
  EXPECT_NEAR(at[1] - at[0], at[2] - at[1], 0.11);
  EXPECT_GT(at[1] - at[0], 100);
}

TEST(Report, curves_keep_their_style) {
  const auto style_in = [](const std::string& html) {
    const std::size_t begin = html.find("stroke=\"#");
    return html.substr(begin, html.find(" d=", begin) - begin);
  };
  ReportCurves curves = one_curve({1, 2});
  const std::string first = page_with(curves);
  curves.series[0].style = 1;
  const std::string second = page_with(curves);
  EXPECT_NE(style_in(first), style_in(second));
  EXPECT_EQ(count(second, style_in(second)), 2);  // the line and the legend
  curves.series[0].style = 0;
  EXPECT_EQ(page_with(curves), first);
}

TEST(Report, ticks_are_plain_numbers) {
  const std::string html = page_with(one_curve({-0.15, 0, 0.31}));
  for (const char* tick : {">-0.2<", ">-0.1<", ">0.0<", ">0.4<"})
    EXPECT_TRUE(has(html, tick)) << tick;
  EXPECT_FALSE(has(html, ">-0.0<"));
  const ReportCurves steps{"", "", "", {{"", {120, 7}, {0, 100}}}};
  EXPECT_TRUE(has(page_with(steps), ">100<"));
  EXPECT_TRUE(has(page_with(steps), ">0<"));
}

TEST(Report, curves_of_any_numbers) {
  const double huge = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const AxisScale scale : {AxisScale::linear, AxisScale::logarithmic}) {
    for (const std::vector<double>& y : std::vector<std::vector<double>>{{},
                                                                         {nan},
                                                                         {0},
                                                                         {-1, -1},
                                                                         {5},
                                                                         {tiny},
                                                                         {0, tiny},
                                                                         {tiny, huge},
                                                                         {-huge, huge},
                                                                         {1e17, 1e17 + 16},
                                                                         {1, nan, 2},
                                                                         {1e-200, 1e200},
                                                                         {huge}}) {
      const std::string html = page_with(one_curve(y, scale));
      expect_well_formed(html);
      const std::string drawing = html.substr(html.find("<svg"));
      EXPECT_FALSE(has(drawing, "nan"));
      EXPECT_FALSE(has(drawing, "inf"));
      EXPECT_LT(count(drawing, "class=\"grid\""), 40);
    }
  }
  EXPECT_TRUE(has(page_with(one_curve({nan})), "no points"));
  EXPECT_TRUE(has(page_with({}), "no points"));
  EXPECT_EQ(count(page_with(one_curve({1, nan, 2})), "<circle"), 2);
}

TEST(Report, many_points_have_no_dots) {
  EXPECT_FALSE(has(page_with(one_curve(std::vector<double>(100, 1.0))), "<circle"));
}

TEST(Report, bad_arguments) {
  HtmlReport report("bad");
  EXPECT_THROW(report.heading("x", 0), ArgumentError);
  EXPECT_THROW(report.heading("x", 4), ArgumentError);
  EXPECT_THROW(report.picture({"", {1, 2}, 2, 2, "", "", {}}), ArgumentError);
  EXPECT_THROW(report.curves({"", "", "", {{"", {1, 2}, {1}}}}), ArgumentError);
  EXPECT_THROW(report.curves({"", "", "", {{"", {}, {1}}}, static_cast<AxisScale>(2)}),
               ArgumentError);
  EXPECT_THROW(report.curves({"", "", "", {}, AxisScale::linear, static_cast<AxisScale>(2)}),
               ArgumentError);
  report.table({});
  EXPECT_EQ(report.html(), HtmlReport("bad").html());
}

TEST(Report, files) {
  in_folder(Comm::self(), [](const std::string& folder) {
    const std::string path = folder + "/report.html";
    HtmlReport report("one");
    report.write(path);
    report.paragraph("more");
    report.write(path);
    EXPECT_EQ(content_of(path), report.html());
    EXPECT_THROW(report.write(folder + "/none/report.html"), Error);
    EXPECT_EQ(names_in(folder), std::vector<std::string>{"report.html"});
    std::filesystem::create_symlink("report.html", folder + "/link");
    report.paragraph("through a link");
    report.write(folder + "/link");
    EXPECT_EQ(content_of(path), report.html());
    EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  });
}

}  // namespace weft::app
