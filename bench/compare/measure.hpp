#pragma once

// Times a problem on Weft's side. peer_session.py and petsc_side.cpp use the same steps.

#include <weft/weft.hpp>

#include <nlohmann/json.hpp>

#include "bench/timing.hpp"

#include <functional>
#include <string>
#include <vector>

namespace compare {

/// The totals of mpi_counter; zeros if it is not preloaded.
struct Traffic {
  double calls = 0;
  double bytes = 0;
};
Traffic traffic_so_far();

/// Per apply or per iteration.
struct Timing {
  std::vector<double> seconds;
  Traffic traffic;
};

struct Outcome {
  Timing ours;
  /// A lower bound of the time, and a description of what was timed for it.
  double floor_seconds = 0;
  std::string floor;
};

class Session {
 public:
  /// Reads from the job: "seconds" per loop, the number of "loops", and "answers", the folder for
  /// answers; without it none are written.
  Session(weft::Comm comm, const nlohmann::json& job);

  const weft::Comm& comm() const { return comm_; }
  void start_case(std::string id) { id_ = std::move(id); }

  /// Times loops of `work` after an untimed one; one call of `work` is `units` units.
  Timing time(const std::function<void()>& work, double units = 1) const;
  /// The same for work that needs an untimed setup before each call.
  Timing time(const std::function<void()>& setup, const std::function<void()>& work,
              double units) const;

  /// Writes an answer for the driver; one file per part of a stack.
  template <weft::Scalar T>
  void answer(const weft::DistributedArray<T>& x) const {
    if (answers_.empty()) return;
    if (!x.layout().is_stack()) {
      weft::write_npy(answers_ + "/" + id_ + ".npy", x);
      return;
    }
    for (int part = 0; part < x.layout().part_count(); ++part) {
      weft::write_npy(answers_ + "/" + id_ + "." + std::to_string(part) + ".npy", x.part(part));
    }
  }
  void answer(double number) const;

 private:
  struct Lap {
    double seconds;
    Traffic traffic;
  };
  Lap lap(const std::function<void()>& work, int repeats) const;
  void synchronize() const;

  weft::Comm comm_;
  double seconds_;
  int loops_;
  std::string answers_;
  std::string id_;
};

using weft::bench::median;

/// Seconds to read or write `arrays` arrays of a layout once, by copies that cycle through `around`
/// arrays, so that caches help as much as in the problem.
template <weft::Scalar T>
double copy_floor(const Session& session, const weft::Layout& layout, int arrays, int around = 2) {
  std::vector<weft::DistributedArray<T>> all(static_cast<std::size_t>(around),
                                             weft::DistributedArray<T>(layout));
  const auto n = all.size();
  std::size_t i = 0;
  const Timing timing = session.time([&] {
    weft::copy(all[i % n], all[(i + 1) % n]);
    i += 2;
  });
  return median(timing.seconds) * arrays / 2;
}

using Problem = Outcome (*)(Session& session, const nlohmann::json& options);

/// A problem and its name in jobs.
struct Named {
  const char* name;
  Problem run;
};
std::vector<Named> array_problems();
std::vector<Named> derivative_problems();
std::vector<Named> matrix_problems();
std::vector<Named> fourier_problems();
std::vector<Named> solver_problems();

inline weft::Shape shape_of(const nlohmann::json& options) {
  const auto extents = options.at("shape").get<std::vector<weft::index_t>>();
  return weft::Shape(weft::Index(std::span(extents)));
}

}  // namespace compare
