// A program that is killed at any time resumes from its last checkpoint.

#include "io/folder.hpp"
#include "support/shell.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

namespace weft::test {
namespace {

/// The log of one run.
struct Run {
  long microseconds = 0;
  int resumed = -1;  // -1: unknown
  int last = 0;      // the last iteration whose checkpoint was begun
  std::string bits;  // empty unless the run was complete
};

/// The program and its folder. Each run is killed, or completes.
class Victim {
 public:
  Victim(std::string start, const std::string& folder)
      : start_(std::move(start)), folder_(folder), path_(folder + "/state") {}

  Run run(int rank = -1, long microseconds = 0) const {
    std::filesystem::remove(path_ + ".log");
    const std::string command =
        fmt::format("{} $P {} {} {}", start_, path_, iterations,
                    rank >= 0 ? fmt::format("{} {}", rank, microseconds) : "");
    // Open MPI does not remove its shared memory when it is killed; this folder is removed.
    const Ended ended = run_shell(
        fmt::format("export WEFT_QUIET=1 OMP_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1 "
                    "OMPI_MCA_btl_vader_backing_directory={}; P='{}/checkpoint_program'",
                    folder_, WEFT_TEST_PROGRAM_DIR),
        command);
    Run result;
    if (rank < 0) {
      EXPECT_EQ(ended.code, 0) << ended.output;
    }
    // The surviving ranks may report errors, but none about the checkpoint.
    for (const char* complaint : {"the checkpoint '", "is not a checkpoint", "in use"})
      EXPECT_EQ(ended.output.find(complaint), std::string::npos) << ended.output;
    if (!std::filesystem::exists(path_ + ".log")) return result;
    std::istringstream log(content_of(path_ + ".log"));
    for (std::string key, value; log >> key >> value;) {
      if (key == "resumed") result.resumed = std::stoi(value);
      if (key == "at") result.last = std::stoi(value);
      if (key == "took") result.microseconds = std::stol(value);
      if (key == "done") result.bits = value;
    }
    return result;
  }
  void remove_checkpoint() const { std::filesystem::remove(path_); }
  bool has_checkpoint() const { return std::filesystem::exists(path_); }
  /// The number of temporary and lock files.
  int leftovers() const {
    int count = 0;
    for (const std::string& name : names_in(folder_)) {
      if (name.find(".partial") != std::string::npos || name.ends_with(".lock")) ++count;
    }
    return count;
  }

  static constexpr int iterations = 40;

 private:
  std::string start_;
  std::string folder_;
  std::string path_;
};

/// Kills the program `kills` times, or more often until it was killed within its iterations, and
/// expects the result of an uninterrupted run.
void expect_survives(const Victim& victim, int ranks, int kills) {
  std::mt19937 random(12345);  // NOLINT(cert-msc51-cpp): reproducible
  const Run uninterrupted = victim.run();
  ASSERT_EQ(uninterrupted.resumed, 0);
  ASSERT_FALSE(uninterrupted.bits.empty());
  victim.remove_checkpoint();

  int written = 0;  // the last checkpoint that must exist
  int killed_within = 0;
  for (int killed = 0; killed < kills || (killed_within == 0 && killed < 10 * kills);) {
    std::uniform_int_distribution<long> when(0, uninterrupted.microseconds);
    const Run run =
        victim.run(static_cast<int>(random() % static_cast<unsigned>(ranks)), when(random));
    // The run resumed from a valid checkpoint, and at most one interval was lost.
    if (run.resumed >= 0) {
      EXPECT_GE(run.resumed, written);
      written = std::max(written, run.resumed);
    }
    if (!run.bits.empty()) {
      EXPECT_EQ(run.bits, uninterrupted.bits);
      victim.remove_checkpoint();
      written = 0;
      continue;
    }
    ++killed;
    if (run.last > 0) ++killed_within;
    written = std::max(written, run.last - 1);
    EXPECT_TRUE(victim.has_checkpoint() || written == 0);
  }
  EXPECT_EQ(victim.run().bits, uninterrupted.bits);
  EXPECT_EQ(victim.leftovers(), 0);
  EXPECT_GT(killed_within, 0);  // otherwise the test has tested nothing
}

}  // namespace

TEST(KilledSolver, resumes_bitwise) {
  if (std::getenv("WEFT_TEST_COMM") != nullptr) GTEST_SKIP() << "runs once, in its own process";
  for (const int ranks : {1, 3}) {
    in_folder(Comm::self(), [&](const std::string& folder) {
      const Victim victim(fmt::format("P=\"$P --ranks {}\";", ranks), folder);
      // All threads are killed at once, whichever rank sets the time.
      expect_survives(victim, ranks, 20);
    });
  }
}

TEST(KilledSolver, resumes_with_mpi) {
  if (std::getenv("WEFT_TEST_COMM") != nullptr) GTEST_SKIP() << "runs once, in its own process";
  WEFT_SKIP_WITHOUT_MPI();
  in_folder(Comm::self(), [&](const std::string& folder) {
    expect_survives(Victim(fmt::format("{} -n 2", WEFT_MPIEXEC), folder), 2, 3);
  });
}

}  // namespace weft::test
