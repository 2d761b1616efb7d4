#pragma once

// How a problem is timed on our side. pylops_side.py and petsc_side.cpp do the same, line by line.

#include <weft/weft.hpp>

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace compare {

/// What mpi_counter has seen so far; zeros if it is not preloaded.
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
  /// The least time that the problem could take, and what was timed to know it.
  double floor_seconds = 0;
  std::string floor;
};

class Session {
 public:
  /// Reads from the job how long to measure: "seconds" per loop, "loops" and "answers", a folder
  /// that answers go to; nothing is written if that is missing.
  Session(weft::Comm comm, const nlohmann::json& job);

  const weft::Comm& comm() const { return comm_; }
  void start_case(std::string id) { id_ = std::move(id); }

  /// Loops of `work`, after one that does not count; `units` is what one call of it does.
  Timing time(const std::function<void()>& work, double units = 1) const;
  /// The same for work that needs to be set up anew each time, which is not timed.
  Timing time(const std::function<void()>& setup, const std::function<void()>& work,
              double units) const;

  /// Leaves an answer where the driver finds it; parts of a stack, one by one.
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
  void settle() const;

  weft::Comm comm_;
  double seconds_;
  int loops_;
  std::string answers_;
  std::string id_;
};

double median(std::vector<double> values);

/// Copying so many arrays of a layout, each read or written once, goes around `around` of them so
/// that caches help as much as they help what it is compared with.
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

/// What a file of problems can do, by name.
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
