// Chaos tests: one rank fails at a random step, and all ranks must report it. See options.cpp for
// usage.

#include "faults/chaos/evaluate.hpp"
#include "faults/chaos/options.hpp"
#include "faults/chaos/run.hpp"
#include "faults/support/process.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace weft::chaos;
using weft::faults::Ended;
using weft::faults::now;

constexpr double deadline = 1.0;  // for runs in which a rank is stopped
constexpr double hung_after = 15.0;

/// Results of all runs with one action.
struct Tally {
  int passed = 0;
  int failed = 0;
  double slowest = 0;
};

Plan plan_of(const Options& options, std::uint64_t seed) {
  return make_plan(seed, options.ranks, options.mpi, options.actions);
}

#ifdef WEFT_TEST_MPIEXEC
/// Replaces this process by the launcher of an MPI job of this program.
int start_job(const Options& options, std::uint64_t seed, const std::string& record) {
  const std::string command = fmt::format(
      "exec {} -n {} {} {} --play {}", WEFT_TEST_MPIEXEC, options.ranks,
      std::filesystem::read_symlink("/proc/self/exe").string(), repeat(options, seed), record);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  return 127;
}
#else
int start_job(const Options&, std::uint64_t, const std::string&) {
  fmt::print(stderr, "this build has no MPI\n");
  return 127;
}
#endif

Ended run_seed(const Options& options, const Plan& plan, SharedRecord& record) {
  record.clear();
  return weft::faults::run_process(
      [&] {
        if (plan.action == Action::stop) setenv("WEFT_TIMEOUT", "1", 1);
        return options.mpi ? start_job(options, plan.seed, record.path())
                           : run_plan(plan, false, *record);
      },
      hung_after,
      [&] {
        for (const RankRecord& rank : record->ranks) {
          if (options.mpi && rank.pid > 0) kill(rank.pid, SIGKILL);
        }
      });
}

int drive(const Options& options) {
  SharedRecord record;
  std::array<Tally, actions> tallies;
  std::vector<std::uint64_t> failing;
  const std::int64_t end = now() + static_cast<std::int64_t>(options.seconds * 1e9);
  for (std::uint64_t seed = options.first_seed;
       options.seconds > 0 ? now() < end : seed < options.end_seed; ++seed) {
    const Plan plan = plan_of(options, seed);
    const Ended ended = run_seed(options, plan, record);
    const std::string error = evaluate(plan, options.mpi, deadline, *record, ended);
    Tally& tally = tallies[static_cast<std::size_t>(plan.action)];
    ++(error.empty() ? tally.passed : tally.failed);
    if (record->fault_at != 0) {
      tally.slowest =
          std::max(tally.slowest, static_cast<double>(ended.at - record->fault_at) * 1e-9);
    }
    if (error.empty()) continue;
    failing.push_back(seed);
    fmt::print("seed {} ({}, rank {}): {}\n  again: weft_chaos {}\n", seed, to_string(plan.action),
               plan.culprit, error, repeat(options, seed));
    std::fflush(stdout);
  }

  fmt::print("{:<12} {:>7} {:>7} {:>12}\n", "action", "passed", "failed", "slowest");
  int passed = 0;
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const Tally& tally = tallies[i];
    if (tally.passed + tally.failed == 0) continue;
    fmt::print("{:<12} {:>7} {:>7} {:>10.2f} s\n", to_string(static_cast<Action>(i)), tally.passed,
               tally.failed, tally.slowest);
    passed += tally.passed;
  }
  if (!failing.empty()) fmt::print("failing seeds:");
  for (const std::uint64_t seed : failing) fmt::print(" {}", seed);
  fmt::print("{}{} passed, {} failed\n", failing.empty() ? "" : "\n", passed, failing.size());
  return failing.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  if (options.plays) {
    SharedRecord record(options.record);
    return run_plan(plan_of(options, options.first_seed), true, *record);
  }
  // Hide the launcher of this process from the runs; one core per rank is enough.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"}) {
    unsetenv(name);
  }
  setenv("WEFT_QUIET", "1", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                           "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"}) {
    setenv(name, "1", 0);
  }
  // mpirun waits a second between the signals that end the other ranks, sometimes twice.
  setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 0);
  return drive(options);
}
