#include "measure.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace compare {

/// Work that takes longer, in seconds, is not repeated: the extra cost of a first run is small.
constexpr double single_run_seconds = 5;

Traffic traffic_so_far() {
  using Read = void (*)(long long*, long long*);
  static const auto read = reinterpret_cast<Read>(dlsym(RTLD_DEFAULT, "weft_mpi_counter_read"));
  long long calls = 0;
  long long bytes = 0;
  if (read != nullptr) read(&calls, &bytes);
  return {static_cast<double>(calls), static_cast<double>(bytes)};
}

Session::Session(weft::Comm comm, const nlohmann::json& job)
    : comm_(std::move(comm)),
      seconds_(job.value("seconds", 0.1)),
      loops_(job.value("loops", 3)),
      answers_(job.value("answers", "")) {}

/// Waits until the device is idle.
void Session::synchronize() const {
  if (!comm_.device().host_accessible()) weft::Stream::current(comm_.device()).synchronize();
}

/// The time of the slowest rank, and the traffic of this one.
Session::Lap Session::lap(const std::function<void()>& work, int repeats) const {
  synchronize();
  comm_.barrier();
  const Traffic before = traffic_so_far();
  const double mine = weft::bench::seconds([&] {
    for (int i = 0; i < repeats; ++i) work();
    synchronize();
  });
  const Traffic after = traffic_so_far();
  return {comm_.allreduce(mine, weft::ReduceOp::max) / repeats,
          {(after.calls - before.calls) / repeats, (after.bytes - before.bytes) / repeats}};
}

Timing Session::time(const std::function<void()>& work, double units) const {
  double once = lap(work, 1).seconds;
  if (once < 1) once = lap(work, 1).seconds;  // the first run also fills caches
  const int loops = once > 1 ? 1 : loops_;
  const int repeats = static_cast<int>(std::clamp(seconds_ / once, 1.0, 1e5));
  Timing timing;
  for (int i = 0; i < loops; ++i) {
    const Lap each = lap(work, repeats);
    timing.seconds.push_back(each.seconds / units);
    timing.traffic = {each.traffic.calls / units, each.traffic.bytes / units};
  }
  return timing;
}

Timing Session::time(const std::function<void()>& setup, const std::function<void()>& work,
                     double units) const {
  Timing timing;
  const auto add = [&](const Lap& each) {
    timing.seconds.push_back(each.seconds / units);
    timing.traffic = {each.traffic.calls / units, each.traffic.bytes / units};
  };
  setup();
  const Lap first = lap(work, 1);
  if (first.seconds > single_run_seconds) {
    add(first);
    return timing;
  }
  for (int i = 0; i < (first.seconds > 1 ? 1 : loops_); ++i) {
    setup();
    add(lap(work, 1));
  }
  return timing;
}

void Session::answer(double number) const {
  weft::DistributedArray<double> x(weft::Layout::replicated(comm_, {1}).on(weft::Device::cpu()));
  x.fill(number);
  answer(x);
}

}  // namespace compare
