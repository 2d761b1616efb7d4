#pragma once

// Compares candidates with baselines, prints the ratios and writes them as JSON.

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bench/timing.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::bench {

/// Times both in turn, after one untimed call of each.
template <class Ours, class Baseline>
PairedTimes compare(int rounds, int repeats, Ours ours, Baseline baseline) {
  ours();
  baseline();
  return time_in_turn(
      rounds, [&] { return seconds(ours, repeats); }, [&] { return seconds(baseline, repeats); });
}

/// The model name of the processor.
inline std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown";
}

inline std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// Sets the number of threads of parallel loops on the calling rank.
inline void use_threads([[maybe_unused]] int threads) {
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#endif
}

/// The options of a benchmark. Prints a usage message and ends the program if they are invalid.
struct Options {
  /// Measure the rows whose names contain this, and fewer rows. Only axis_bench, derivative_bench
  /// and threads_bench select rows.
  std::string only;
  bool quick = false;
  /// The file for the results; empty for none.
  std::string json;

  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string name = argv[i];
      if (name == "--quick") {
        quick = true;
      } else if (name == "--only" && i + 1 < argc) {
        only = argv[++i];
      } else if (name == "--json" && i + 1 < argc) {
        json = argv[++i];
      } else {
        const bool help = name == "--help";
        fmt::print(help ? stdout : stderr, "usage: {} [--only TEXT] [--quick] [--json FILE]\n",
                   argv[0]);
        std::exit(help ? 0 : 2);
      }
    }
  }
  bool has(const std::string& row) const { return row.find(only) != std::string::npos; }
};

/// Prints rows as they are added, and writes them to the file given with --json at the end.
class Report {
 public:
  Report(int argc, char** argv, std::string title)
      : Report(std::move(title), Options(argc, argv).json) {}
  /// `file` is empty for none.
  Report(std::string title, std::string file) : title_(std::move(title)), file_(std::move(file)) {
    fmt::print("{} ({} cores)\n{:<52}{:>12}{:>12}{:>9}{:>9}\n", title_,
               std::thread::hardware_concurrency(), "", "ours", "baseline", "ratio", "bar");
  }
  ~Report() {
    if (file_.empty()) return;
    std::ofstream(file_) << nlohmann::json{{"title", title_},
                                           {"date", today()},
                                           {"processor", processor()},
                                           {"cores", std::thread::hardware_concurrency()},
                                           {"rows", rows_}}
                                .dump(1)
                         << '\n';
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void add(const std::string& what, const std::string& baseline, const PairedTimes& times,
           double bar) {
    const double ours = median(times.ours) * 1e6;
    const double theirs = median(times.baseline) * 1e6;
    row(fmt::format("{} vs {}", what, baseline), fmt::format("{:.2f} us", ours),
        fmt::format("{:.2f} us", theirs), times.ratio(), bar);
    rows_.push_back({{"what", what},
                     {"baseline", baseline},
                     {"ours_us", ours},
                     {"baseline_us", theirs},
                     {"ratio", times.ratio()},
                     {"bar", bar}});
  }
  /// A value that is not a ratio, with its upper limit.
  void add_count(const std::string& what, double value, double bar) {
    fmt::print("{:<52}{:>12.3g}{:>12}{:>9}{:>9.3g}{}\n", what, value, "", "", bar,
               value <= bar ? "" : "  MISSED");
    rows_.push_back({{"what", what}, {"value", value}, {"bar", bar}});
  }

 private:
  void row(const std::string& what, const std::string& ours, const std::string& baseline,
           double ratio, double bar) const {
    fmt::print("{:<52}{:>12}{:>12}{:>9.3f}{:>9.2f}{}\n", what, ours, baseline, ratio, bar,
               ratio <= bar ? "" : "  MISSED");
  }

  std::string title_;
  std::string file_;
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace weft::bench
