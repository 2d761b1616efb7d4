#include "sparse_bench/table.hpp"

#include "bench/sizes.hpp"

#include <fmt/core.h>

namespace weft::sparse_bench {
namespace {

std::string_view exchange_text(const Case& at) {
  return has_slots(at.algorithm) ? to_string(at.exchange) : "-";
}

/// The columns that name an algorithm, of which "auto" also shows its choice.
std::string name_text(const std::string& algorithm, const std::string& ran) {
  return algorithm == ran || ran.empty() ? algorithm : algorithm + ": " + ran;
}

constexpr const char* case_columns = "#{:<16}{:>6}{:>6}{:>9}{:>8}";

std::string case_header() {
  return fmt::format(fmt::runtime(case_columns), " algorithm", "exch.", "type", "n", "density");
}

std::string case_text(const Case& at, const std::string& ran) {
  return fmt::format("{:<17}{:>6}{:>6}{:>9}{:>8}", name_text(at.algorithm, ran), exchange_text(at),
                     weft::to_string(at.dtype), bench::bytes_text(at.n), at.density);
}

std::string optional_text(const std::optional<double>& value, int width, int digits) {
  return value ? fmt::format("{:>{}.{}f}", *value, width, digits)
               : fmt::format("{:>{}}", "-", width);
}

constexpr double micro = 1e6;

}  // namespace

std::string words_header() {
  return "#\n# words of a rank and call: of the rank with the most, the mean over the calls; "
         "'<' where the formula is an upper bound\n"
         "# bytes: those that Comm counted; lost: conservation error; scratch: bytes per "
         "element\n" +
         case_header() +
         fmt::format("{:>6}{:>12}  {:>11}{:>11}{:>9}{:>12}{:>8}{:>9}{:>6}{:>9}\n", "ranks", "words",
                     "formula", "padding", "header", "bytes", "sel./k", "max/mean", "lost",
                     "scratch");
}

std::string row_text(const WordsRow& row) {
  std::string text = case_text(row.at, row.ran);
  text += fmt::format("{:>6}{:>12.1f} {}{:>11.1f}{:>11.1f}{:>9.1f}{:>12.0f}{:>8.2f}", row.ranks,
                      row.words, row.is_bound ? '<' : ' ', row.formula, row.padding, row.header,
                      row.bytes, row.selected);
  text += optional_text(row.imbalance, 9, 2);
  text += row.conservation_error ? fmt::format("{:>6g}", *row.conservation_error) : "     -";
  text += fmt::format("{:>9.1f}", row.scratch_per_element);
  if (row.mismatches > 0) text += fmt::format("  MISMATCH in {} calls of ranks", row.mismatches);
  if (!row.bytes_agree) text += "  MISMATCH of bytes";
  if (row.conservation_error.value_or(0) != 0) text += "  NOT CONSERVED";
  return text + "\n";
}

std::string times_header(std::string_view raw, double bar) {
  std::string text =
      "#\n# us of a call on the slowest rank, in turn with a dense allreduce; medians. Phases are "
      "means over the ranks\n";
  if (bar > 0) text += fmt::format("# bar: the last ratio must be at most {}\n", bar);
  text += case_header() + fmt::format("{:>12}{:>12}{:>8}", "time", "dense", "ratio");
  if (!raw.empty()) text += fmt::format("{:>12}{:>8}", fmt::format("bare {}", raw), "ratio");
  for (const Phase& phase : phases) text += fmt::format("{:>10}", phase.name);
  return text + fmt::format("{:>10}\n", "other");
}

std::string row_text(const TimesRow& row, bool compares, double bar) {
  std::string text = case_text(row.at, row.ran);
  text += fmt::format("{:>12.1f}{:>12.1f}{:>8.3f}", row.seconds * micro, row.dense.seconds * micro,
                      row.dense.ratio);
  if (compares) {
    text += row.raw ? fmt::format("{:>12.1f}{:>8.3f}", row.raw->seconds * micro, row.raw->ratio)
                    : fmt::format("{:>12}{:>8}", "-", "-");
  }
  for (const Phase& phase : phases) {
    text += fmt::format("{:>10.1f}", row.phases.*phase.seconds * micro);
  }
  return text +
         fmt::format("{:>10.1f}{}\n", row.other_seconds * micro, row.misses(bar) ? "  MISSED" : "");
}

std::string selection_header() {
  return "#\n# selection with error feedback on all ranks at the same time, against a copy of as "
         "many bytes; medians\n" +
         fmt::format("#{:<16}{:>6}{:>9}{:>8}{:>12}{:>12}{:>8}{:>9}{:>9}{:>8}\n", " selector",
                     "type", "n", "density", "us", "copy us", "ratio", "GB/s", "copy", "sel./k");
}

std::string row_text(const SelectionRow& row) {
  return fmt::format("{:<17}{:>6}{:>9}{:>8}{:>12.1f}{:>12.1f}{:>8.2f}{:>9.2f}{:>9.2f}{:>8.2f}\n",
                     row.selector, weft::to_string(row.dtype), bench::bytes_text(row.n),
                     row.density, row.seconds * micro, row.copy_seconds * micro, row.ratio, row.gbs,
                     row.copy_gbs, row.selected);
}

std::string check_header(const std::vector<DType>& dtypes) {
  std::string text =
      fmt::format("#\n#{:<16}{:>6}{:>9}{:>8}", " algorithm", "exch.", "n", "density");
  for (const DType dtype : dtypes) text += fmt::format("{:>8}", weft::to_string(dtype));
  return text + "\n";
}

std::string row_text(std::span<const CheckRow> rows) {
  const Case& at = rows.front().at;
  std::string text = fmt::format("{:<17}{:>6}{:>9}{:>8}", at.algorithm, exchange_text(at),
                                 bench::bytes_text(at.n), at.density);
  std::string failures;
  for (const CheckRow& row : rows) {
    text += fmt::format("{:>8}", row.failure.empty() ? "ok" : "FAILED");
    if (row.failure.empty()) continue;
    failures += fmt::format("  {}: {}\n", weft::to_string(row.at.dtype), row.failure);
  }
  return text + "\n" + failures;
}

std::string trace_header() {
  return "#\n# of rank 0: elements selected, words to owners or in a tree (split), words of the "
         "result (gather), elements of the result\n"
         "# thresholds are those of the next call; + after one: this call has searched for it\n" +
         case_header() +
         fmt::format(
             "{:>5} {:<8}{:<6}{:<7}{:>9}{:>10}{:>10}{:>9}{:>10}{:>9}{:>9}{:>10}{:>9}{:>11}"
             "{:>11}\n",
             "call", "path", "exch.", "route", "selected", "split", "gather", "balance", "dense",
             "padding", "header", "result", "overflow", "local", "global");
}

std::string row_text(const TraceRow& row) {
  const SparseReport& r = row.report;
  const auto threshold = [](double value, bool searched) {
    return fmt::format("{:>10.4g}{}", value, searched ? '+' : ' ');
  };
  return case_text(row.at, "") +
         fmt::format(
             "{:>5} {:<8}{:<6}{:<7}{:>9}{:>10}{:>10}{:>9}{:>10}{:>9}{:>9}{:>10}{:>9}{}{}{}\n",
             r.call, r.algorithm, exchange_of(r), row.route, r.selected, r.split_words,
             r.gather_words, r.balance_words, r.dense_words, r.padding_words, r.header_words,
             r.result, r.overflow, threshold(r.local_threshold, r.exact_local),
             threshold(r.global_threshold, r.exact_global), r.new_regions ? " new regions" : "");
}

}  // namespace weft::sparse_bench
