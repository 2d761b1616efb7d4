#include "faults/files/scenarios.hpp"

#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>
#include <weft/io/npy.hpp>
#include <weft/io/replace_file.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/solve/cgls.hpp>

#include "support/text.hpp"

#include <filesystem>
#include <functional>
#include <mutex>

namespace weft::faults {
namespace {

using test::content_of;

/// Runs on thread ranks. If any throws, all must throw the same.
void on_ranks(int ranks, const std::function<void(const Comm&)>& body) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  run_threads(ranks, [&](const Comm& comm) {
    try {
      body(comm);
    } catch (const std::exception& error) {
      messages[static_cast<std::size_t>(comm.rank())] = error.what();
    }
  });
  for (const std::string& message : messages) {
    if (message != messages.front()) {
      throw Error("ranks disagree: one says '" + messages.front() + "', another '" + message + "'");
    }
  }
  if (!messages.front().empty()) throw Error(messages.front());
}

/// A solver that continues from iteration 1, if it `resumes`, and leaves a checkpoint in each
/// iteration up to 2.
class CheckpointScenario final : public Scenario {
 public:
  CheckpointScenario(int ranks, bool resumes) : ranks_(ranks), resumes_(resumes) {
    for (index_t iterations = 0; iterations <= last; ++iterations)
      expected_.push_back(x_after(iterations, ""));
  }

  std::string name() const override {
    return (resumes_ ? "resume and replace a checkpoint on " : "write the first checkpoints on ") +
           std::to_string(ranks_) + (ranks_ == 1 ? " rank" : " ranks");
  }
  void prepare(const std::string& folder) const override {
    if (resumes_) x_after(before, path(folder));
  }
  void run(const std::string& folder) const override {
    if (x_after(last, path(folder)) != expected_.back()) throw Error("the result is wrong");
  }
  std::string error(const std::string& folder, bool is_new) const override {
    if (!std::filesystem::exists(path(folder)))
      return is_new || resumes_ ? "there is no checkpoint" : "";
    try {
      std::vector<double> x;
      index_t iteration = 0;
      on_ranks(ranks_, [&](const Comm& comm) {
        const auto solver = make(comm, 100, path(folder));
        const std::vector<double> all = solver->x().all_gather();
        if (comm.rank() != 0) return;
        x = all;
        iteration = solver->iteration();
      });
      const index_t least = is_new ? last : resumes_ ? before : 1;
      if (iteration < least || iteration > last)
        return "the checkpoint is of iteration " + std::to_string(iteration);
      if (x != expected_[static_cast<std::size_t>(iteration)])
        return "the checkpoint has another x";
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }
  bool cleans_up(const std::string& folder) const override {
    run(folder);
    return true;
  }

 private:
  static constexpr index_t before = 1;
  static constexpr index_t last = 2;

  std::string path(const std::string& folder) const override { return folder + "/state"; }

  static std::unique_ptr<Cgls<double, double>> make(const Comm& comm, index_t iterations,
                                                    const std::string& path) {
    const Layout layout = Layout::scatter(comm, {4, 3}, 1);
    DistributedArray<double> d(layout);
    d.fill([](const Index& at) { return 1 + static_cast<double>(at[0] * 3 + at[1]); });
    DistributedArray<double> y(layout);
    y.fill([](const Index& at) { return static_cast<double>(at[0] - 2 * at[1]) + 0.5; });
    SolverOptions options{.max_iterations = iterations, .relative_tolerance = 0};
    if (!path.empty()) options.checkpoint = CheckpointOptions{.path = path, .every_iterations = 1};
    return std::make_unique<Cgls<double, double>>(diagonal(d), y, options);
  }
  std::vector<double> x_after(index_t iterations, const std::string& path) const {
    std::vector<double> x;
    on_ranks(ranks_, [&](const Comm& comm) {
      if (iterations == 0) return;
      const auto solver = make(comm, iterations, path);
      solver->run();
      const std::vector<double> all = solver->x().all_gather();
      if (comm.rank() == 0) x = all;
    });
    return x;
  }

  int ranks_;
  bool resumes_;
  std::vector<std::vector<double>> expected_;  // x after each iteration
};

class NpyScenario : public Scenario {
 public:
  explicit NpyScenario(int ranks) : ranks_(ranks) {}

  void prepare(const std::string& folder) const override { write(folder, 1); }
  std::string error(const std::string& folder, bool is_new) const override {
    const std::string found = content_of(path(folder));
    if (found == image(2) || (!is_new && found == image(1))) return {};
    return "x.npy is neither the old nor the new one";
  }

 protected:
  int ranks() const { return ranks_; }
  std::string on_so_many() const {
    return std::to_string(ranks_) + (ranks_ == 1 ? " rank" : " ranks");
  }
  std::string path(const std::string& folder) const override { return folder + "/x.npy"; }
  static Layout layout(const Comm& comm) { return Layout::scatter(comm, {3, 5}, 1); }
  static std::vector<double> values(double factor) {
    std::vector<double> all;
    for (int i = 0; i < 15; ++i) all.push_back(factor * (i + 1));
    return all;
  }
  void write(const std::string& folder, double factor) const {
    on_ranks(ranks_, [&](const Comm& comm) {
      DistributedArray<double> x(layout(comm));
      x.fill([&](const Index& at) { return factor * static_cast<double>(at[0] * 5 + at[1] + 1); });
      write_npy(path(folder), x);
    });
  }

 private:
  static std::string image(double factor) {
    std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }";
    text.resize(117, ' ');
    const std::vector<double> all = values(factor);
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + text + "\n" +
           std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(double));
  }

  int ranks_;
};

class SaveNpy final : public NpyScenario {
 public:
  using NpyScenario::NpyScenario;
  std::string name() const override { return "write_npy on " + on_so_many(); }
  void run(const std::string& folder) const override { write(folder, 2); }
};

class LoadNpy final : public NpyScenario {
 public:
  using NpyScenario::NpyScenario;
  std::string name() const override { return "read_npy on " + on_so_many(); }
  void run(const std::string& folder) const override {
    on_ranks(ranks(), [&](const Comm& comm) {
      const auto all = read_npy<double>(path(folder), layout(comm)).all_gather();
      if (all != values(1)) throw Error("the array is wrong");
    });
  }
  std::string error(const std::string& folder, bool) const override {
    return NpyScenario::error(folder, false);
  }
};

class ReplaceFile final : public Scenario {
 public:
  std::string name() const override { return "replace a file"; }
  std::string path(const std::string& folder) const override { return folder + "/text"; }
  void prepare(const std::string& folder) const override { replace_file(path(folder), "old"); }
  void run(const std::string& folder) const override { replace_file(path(folder), "new"); }
  std::string error(const std::string& folder, bool is_new) const override {
    const std::string found = content_of(path(folder));
    if (found == "new") return {};
    if (!is_new && found == "old") return {};
    return "the file is neither the old nor the new one";
  }
};

}  // namespace

std::vector<std::unique_ptr<Scenario>> scenarios() {
  std::vector<std::unique_ptr<Scenario>> all;
  for (const int ranks : {1, 3}) {
    for (const bool resumes : {false, true})
      all.push_back(std::make_unique<CheckpointScenario>(ranks, resumes));
    all.push_back(std::make_unique<SaveNpy>(ranks));
    all.push_back(std::make_unique<LoadNpy>(ranks));
  }
  all.push_back(std::make_unique<ReplaceFile>());
  return all;
}

}  // namespace weft::faults
