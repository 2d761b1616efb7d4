#pragma once

// Measures candidates side by side and prints ratios. Absolute times mean little on shared
// machines; two things timed in turn, round after round, can be compared.

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

template <class F>
double seconds(F&& work, int repeats = 1) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Times of two candidates, one pair per round.
struct Pair {
  std::vector<double> ours;
  std::vector<double> baseline;

  double ratio() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / baseline[i]);
    return median(ratios);
  }
};

/// Times both in turn, after one round that does not count.
template <class Ours, class Baseline>
Pair compare(int rounds, int repeats, Ours ours, Baseline baseline) {
  Pair pair;
  seconds(ours);
  seconds(baseline);
  for (int round = 0; round < rounds; ++round) {
    pair.ours.push_back(seconds(ours, repeats));
    pair.baseline.push_back(seconds(baseline, repeats));
  }
  return pair;
}

/// The processor by its own name.
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

/// Of loops on the calling rank, from now on.
inline void use_threads([[maybe_unused]] int threads) {
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#endif
}

/// --only TEXT, which rows are measured: those whose name contains it; --quick: fewer of them.
struct Options {
  std::string only;
  bool quick = false;

  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (std::string(argv[i]) == "--quick") quick = true;
      if (std::string(argv[i]) == "--only" && i + 1 < argc) only = argv[i + 1];
    }
  }
  bool has(const std::string& row) const { return row.find(only) != std::string::npos; }
};

/// Collects rows, prints them as they come and writes them to the file after --json.
class Report {
 public:
  Report(int argc, char** argv, std::string title) : title_(std::move(title)) {
    for (int i = 1; i + 1 < argc; ++i) {
      if (std::string(argv[i]) == "--json") file_ = argv[i + 1];
    }
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

  void add(const std::string& what, const std::string& baseline, const Pair& pair, double bar) {
    const double ours = median(pair.ours) * 1e6;
    const double theirs = median(pair.baseline) * 1e6;
    row(fmt::format("{} vs {}", what, baseline), fmt::format("{:.2f} us", ours),
        fmt::format("{:.2f} us", theirs), pair.ratio(), bar);
    rows_.push_back({{"what", what},
                     {"baseline", baseline},
                     {"ours_us", ours},
                     {"baseline_us", theirs},
                     {"ratio", pair.ratio()},
                     {"bar", bar}});
  }
  /// A number that is not a ratio, and the most it may be.
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

}  // namespace bench
