#include "bench/table.hpp"

#include <fmt/core.h>

namespace weft::bench {
namespace {

constexpr int facts_width = 46;
constexpr int algorithm_width = 11;
constexpr int cell_width = 41;
constexpr int raw_width = 29;

std::string raw_text(const std::optional<RawTimes>& raw) {
  if (!raw) return fmt::format("{:>11}{:>8}{:>10}", "-", "-", "-");
  return fmt::format("{:>11.2f}{:>8.3f}{:>+10.2f}", raw->time_us, raw->ratio, raw->difference_us);
}

std::string cell_text(const std::optional<Cell>& cell, bool compares) {
  if (!cell) {
    return fmt::format("{:>12}{:>10}{:>10}{:>9}{}", "-", "-", "-", "-",
                       compares ? raw_text({}) : "");
  }
  return fmt::format("{:>12.2f}{:>10.3f}{:>10.3f}{:>9}{}", cell->time_us, cell->algbw, cell->busbw,
                     cell->wrong ? std::to_string(*cell->wrong) : "n/a",
                     compares ? raw_text(cell->raw) : "");
}

/// The three lines above the rows.
std::string columns_text(bool compares, bool has_algorithm) {
  const int left = facts_width + (has_algorithm ? algorithm_width : 0);
  const int width = cell_width + (compares ? raw_width : 0);
  const auto twice = [](const std::string& text) { return text + text; };
  std::string text =
      fmt::format("#{:>{}}{:>{}}{:>{}}\n", "", left - 1, "out of place", width, "in place", width);
  text += fmt::format("#{:>11}{:>12}{:>6}{:>9}{:>7}", "bytes", "count", "type", "op", "root");
  if (has_algorithm) text += fmt::format("{:>{}}", "algorithm", algorithm_width);
  text += twice(
      fmt::format("{:>12}{:>10}{:>10}{:>9}{}", "time", "algbw", "busbw", "#wrong",
                  compares ? fmt::format("{:>11}{:>8}{:>10}", "raw time", "ratio", "diff") : ""));
  text += fmt::format("\n#{:>{}}", "", left - 1);
  text += twice(fmt::format("{:>12}{:>10}{:>10}{:>9}{}", "us", "GB/s", "GB/s", "",
                            compares ? fmt::format("{:>11}{:>8}{:>10}", "us", "", "us") : ""));
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string header_text(const World& world, const Options& options, const Comparison& comparison) {
  std::string text = fmt::format("# weft {} bench {}\n", world.version,
                                 options.tunes ? "tune" : options.what->name);
  text += world_text(world);
  if (options.graph > 0) text += fmt::format("# calls per graph: {}\n", options.graph);
  if (options.compares) {
    text += comparison.name.empty()
                ? fmt::format("# compared with: nothing, since {}\n", comparison.reason)
                : fmt::format("# compared with: bare calls of {}, in turn\n", comparison.name);
  }
  if (options.misalign > 0) text += fmt::format("# misaligned by: {} bytes\n", options.misalign);
  if (options.skew_us > 0) {
    text += fmt::format("# skew: the last rank is {} us late; times are from its arrival\n",
                        options.skew_us);
  }
  text += "# times: the average over the calls, the largest over the ranks\n#\n";
  return text + columns_text(!comparison.name.empty(), !options.algorithm.empty());
}

std::string row_text(const Row& row, bool compares) {
  return fmt::format("{:>12}{:>12}{:>6}{:>9}{:>7}{:>{}}{}{}\n", row.bytes, row.count,
                     to_string(row.dtype), row.op ? to_string(*row.op) : "-",
                     row.root ? std::to_string(*row.root) : "-", row.algorithm,
                     row.algorithm.empty() ? 0 : algorithm_width,
                     cell_text(row.out_of_place, compares), cell_text(row.in_place, compares));
}

std::string footer_text(const Summary& summary, const Options& options,
                        const Comparison& comparison) {
  std::string text = "#\n";
  text += options.checks == 0 ? "# wrong values: not checked\n"
                              : fmt::format("# wrong values: {} {}\n", summary.wrong,
                                            summary.wrong == 0 ? "OK" : "FAILED");
  text += fmt::format("# average bus bandwidth: {:.3f} GB/s\n", summary.average_busbw);
  if (!summary.worst_ratio_large && !summary.worst_difference_small_us) return text;
  text += fmt::format("# against {}:", comparison.name);
  if (summary.worst_ratio_large) {
    text += fmt::format(" worst ratio from 64 KiB on {:.3f}", *summary.worst_ratio_large);
  }
  if (summary.worst_difference_small_us) {
    text += fmt::format("{} worst difference below 64 KiB {:+.2f} us",
                        summary.worst_ratio_large ? "," : "", *summary.worst_difference_small_us);
  }
  return text + "\n";
}

}  // namespace weft::bench
