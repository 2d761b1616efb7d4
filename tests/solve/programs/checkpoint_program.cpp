// The program that checkpoint_kill_test runs and kills: solves a system with a checkpoint in every
// iteration.
//
//   checkpoint_program <path> <iterations> [<rank to kill> <microseconds until then>]
//
// Appends lines to <path>.log: "resumed <iteration>", "at <iteration>" before the checkpoint of an
// iteration is written, "took <microseconds>", and "done <hash of x and of the history>".

#include <weft/comm/launch.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/solve/cgls.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

namespace {

using namespace weft;

/// Writes without a buffer, so that no line is lost when the process is killed.
class Log {
 public:
  Log(const Comm& comm, const std::string& path) {
    if (comm.rank() == 0)
      file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() {
    if (file_ >= 0) close(file_);
  }

  void line(const std::string& text) const {
    const std::string bytes = text + "\n";
    if (file_ >= 0 && write(file_, bytes.data(), bytes.size()) < 0) std::abort();
  }

 private:
  int file_ = -1;
};

void kill_later(std::chrono::microseconds when) {
  std::thread([when] {
    std::this_thread::sleep_for(when);
    kill(getpid(), SIGKILL);
  }).detach();
}

std::uint64_t bits_of(const Solution<double>& solution) {
  std::uint64_t all = 0;
  const auto add = [&](double number) {
    all = (all ^ std::bit_cast<std::uint64_t>(number)) * 0x100000001b3U;
  };
  for (const double number : solution.x.all_gather()) add(number);
  for (const SolverStatus& status : solution.history) {
    add(status.residual_norm);
    add(status.gradient_norm);
  }
  return all;
}

void solve(const Comm& comm, const std::vector<std::string>& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const std::string& path = arguments.at(0);
  if (arguments.size() > 3 && comm.rank() == std::stoi(arguments[2]))
    kill_later(std::chrono::microseconds(std::stol(arguments[3])));

  const Layout layout = Layout::scatter(comm, {300, 10});
  DistributedArray<double> d(layout);
  d.fill([](const Index& at) { return 1 + 0.01 * static_cast<double>(at[0] * at[1]); });
  DistributedArray<double> y(layout);
  y.fill([](const Index& at) { return static_cast<double>((at[0] * 7 + at[1] * 5) % 11) - 5; });

  const Log log(comm, path + ".log");
  SolverOptions options{.max_iterations = std::stol(arguments.at(1)), .relative_tolerance = 0};
  options.checkpoint = CheckpointOptions{.path = path, .every_iterations = 1};
  options.callback = [&](const SolverStatus& status) {
    log.line("at " + std::to_string(status.iteration));
    return true;
  };
  Cgls<double, double> solver(first_derivative<double>(layout) * diagonal(d), y, options,
                              {.damp = 0.3});
  log.line("resumed " + std::to_string(solver.iteration()));
  solver.run();
  const auto took = std::chrono::steady_clock::now() - start;
  log.line("took " + std::to_string(took / std::chrono::microseconds(1)));
  log.line("done " + std::to_string(bits_of(solver.solution())));
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, [&](const Comm& comm) {
    solve(comm, std::vector<std::string>(argv + 1, argv + argc));
  });
}
