#pragma once

// Timing for `weft bench` and for the programs in bench/. Absolute times mean little on shared
// machines: candidates are timed in turn, round after round, and compared within each round.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace weft::bench {

/// Wall-clock seconds per call of `work`, over `repeats` calls.
template <class F>
double seconds(F&& work, int repeats = 1) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

/// Returns after this time, without giving up the processor.
inline void spin(std::chrono::duration<double> time) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (Clock::now() - start < time) {
  }
}

/// The mean of the two middle values of an even number; 0 of none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Times of two candidates, one pair per round.
struct PairedTimes {
  std::vector<double> ours;
  std::vector<double> baseline;

  /// The median over the rounds of ours / baseline.
  double ratio() const {
    return median_of([](double mine, double other) { return mine / other; });
  }
  /// The median over the rounds of ours - baseline.
  double difference() const {
    return median_of([](double mine, double other) { return mine - other; });
  }

 private:
  template <class F>
  double median_of(F combine) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < ours.size(); ++i) values.push_back(combine(ours[i], baseline[i]));
    return median(values);
  }
};

/// Rounds of both in turn. Both return the seconds that they took.
template <class Ours, class Baseline>
PairedTimes time_in_turn(int rounds, Ours ours, Baseline baseline) {
  PairedTimes times;
  for (int round = 0; round < rounds; ++round) {
    times.ours.push_back(ours());
    times.baseline.push_back(baseline());
  }
  return times;
}

}  // namespace weft::bench
