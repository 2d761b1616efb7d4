// No rank of an MPI job waits longer than its time limit for one that has left, hangs or is
// stopped. Tested from outside: the job ends in time with one message and leaves no processes.

#include "support/shell.hpp"
#include "support/text.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace {

using weft::test::Ended;
using weft::test::occurrences;

/// Starting a job takes longer on a busy machine than the tested times.
constexpr double to_start = 3;

bool is_running(const std::string& mark) {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    // Not by an iterator over the file: that throws where the process ends meanwhile.
    std::ostringstream line;
    line << std::ifstream(process.path() / "cmdline").rdbuf();
    if (line.str().find(mark) != std::string::npos) return true;
  }
  return false;
}

/// Processes that were signalled may take a moment to end.
bool ends_soon(const std::string& mark) {
  for (int i = 0; i < 30 && is_running(mark); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return !is_running(mark);
}

/// Runs a program, which must leave no processes.
Ended run(const std::string& program, int ranks, double time_limit,
          const std::string& setting = "") {
  static int runs = 0;
  const std::string mark = fmt::format("run_{}_{}", getpid(), ++runs);
  Ended ended = weft::test::run_shell(
      fmt::format("export WEFT_QUIET=1 WEFT_TIMEOUT={} {}", time_limit, setting),
      fmt::format("{} -n {} " WEFT_TEST_PROGRAM_DIR "/{} {}", WEFT_MPIEXEC, ranks, program, mark));
  EXPECT_TRUE(ends_soon(mark)) << program << " left processes behind";
  return ended;
}

/// The job fails within `seconds` and prints `message` as the only line of Weft.
void expect_one_message(const Ended& ended, double seconds, const std::string& message) {
  EXPECT_NE(ended.code, 0) << ended.output;
  EXPECT_LT(ended.seconds, seconds + to_start) << ended.output;
  EXPECT_EQ(occurrences(ended.output, "weft: "), 1) << ended.output;
  EXPECT_EQ(occurrences(ended.output, "weft: " + message), 1) << ended.output << message;
}

class LostRank : public testing::TestWithParam<int> {
 protected:
  static int ranks() { return GetParam(); }
  static int last() { return ranks() - 1; }
  static Ended run(const std::string& action, double time_limit, const std::string& setting = "") {
    return ::run("lost_rank_program " + action, ranks(), time_limit, setting);
  }

  static void expect_left(const std::string& action, const std::string& call,
                          const std::string& setting = "") {
    // The time limit is far longer than the detection of a rank that has left.
    const Ended ended = run(action, 40, setting);
    if (ranks() == 2 || call == "recv" || call == "send") {
      expect_one_message(
          ended, 2,
          fmt::format("rank {} of {} failed: it left the program while rank 0 was waiting for it "
                      "in {}\n",
                      last(), ranks(), call));
    } else {  // any waiting rank may report it
      expect_one_message(
          ended, 2,
          fmt::format("rank {} of {} failed: it left the program while rank ", last(), ranks()));
      EXPECT_EQ(occurrences(ended.output, fmt::format("was waiting for it in {}\n", call)), 1)
          << ended.output;
    }
  }

  static void expect_timeout(const std::string& action, const std::string& message) {
    const Ended ended = run(action, 1);
    expect_one_message(ended, 1 + 3, "rank ");
    EXPECT_EQ(occurrences(ended.output, message), 1) << ended.output << message;
    EXPECT_GT(ended.seconds, 1);
  }
};

INSTANTIATE_TEST_SUITE_P(OnProcesses, LostRank, testing::Values(2, 4));

TEST_P(LostRank, that_returned_early_is_named) { expect_left("return_early", "allreduce"); }

TEST_P(LostRank, is_named_with_the_call_of_the_program_if_calls_are_checked) {
  expect_left("return_early", "allreduce", "WEFT_CHECK=1");
}

TEST_P(LostRank, that_returns_while_others_wait_is_named) {
  expect_left("return_while_others_wait", "allreduce");
}

TEST_P(LostRank, that_returned_before_it_sent_is_named) {
  expect_left("return_before_sending", "recv");
}

TEST_P(LostRank, that_returned_before_it_received_is_named) {
  expect_left("return_before_receiving", "send");
}

TEST_P(LostRank, that_returned_from_a_split_communicator_is_named) {
  expect_left("return_from_a_part", "barrier");
}

TEST_P(LostRank, that_returned_before_a_begun_call_is_named) {
  expect_left("return_from_a_begun_call", "allreduce");
}

TEST_P(LostRank, that_is_stopped_is_named_after_the_time_limit) {
  expect_timeout("stop", fmt::format("of {} failed: waited 1 s for rank {} (does not respond) in "
                                     "allreduce, which is the limit set by WEFT_TIMEOUT\n",
                                     ranks(), last()));
}

TEST_P(LostRank, that_is_stopped_in_a_call_is_named_after_the_time_limit) {
  expect_timeout("stop_in_a_call",
                 fmt::format("waited 1 s for rank {} (does not respond)", last()));
}

TEST_P(LostRank, that_is_stopped_at_the_end_is_named) {
  expect_timeout(
      "stop_when_others_are_done",
      fmt::format("of {} failed: waited 1 s for rank {} (does not respond) at the end of "
                  "the program, which is the limit set by WEFT_TIMEOUT\n",
                  ranks(), last()));
}

TEST_P(LostRank, that_hangs_is_named_after_the_time_limit) {
  expect_timeout("hang", fmt::format("of {} failed: waited 1 s for rank {} (outside any call) in "
                                     "allreduce, which is the limit set by WEFT_TIMEOUT\n",
                                     ranks(), last()));
}

TEST_P(LostRank, that_waits_elsewhere_is_named_after_the_time_limit) {
  const Ended ended = run("hang_in_another_call", 1);
  expect_one_message(ended, 1 + 3, "rank ");
  // Both kinds of ranks exceed the limit; either may report it.
  const int by_others =
      occurrences(ended.output, fmt::format("for rank {} (in recv) in allreduce", last()));
  const int by_last = occurrences(ended.output, "for rank 0 (in allreduce) in recv");
  EXPECT_EQ(by_others + by_last, 1) << ended.output;
}

TEST_P(LostRank, that_called_exit_is_named) {
  for (const int code : {3, 0}) {
    const Ended ended = run(fmt::format("exit_{}", code), 40);
    expect_one_message(ended, 2,
                       fmt::format("rank {} of {} failed: the program called exit({}) "
                                   "inside launch\n",
                                   last(), ranks(), code));
  }
}

TEST_P(LostRank, among_several_that_fail_is_one_that_is_named) {
  const Ended ended = run("fail_together", 40);
  expect_one_message(ended, 2, "rank ");
  int told = 0;
  for (int rank = 1; rank < ranks(); ++rank) {
    told += occurrences(ended.output,
                        fmt::format("weft: rank {} of {} failed: the sky is falling on rank {}\n",
                                    rank, ranks(), rank));
  }
  EXPECT_EQ(told, 1) << ended.output;
}

TEST_P(LostRank, that_continues_after_an_abandoned_call_is_named) {
  for (const char* how : {"wait_after_an_abandoned_send", "test_after_an_abandoned_send",
                          "drop_after_an_abandoned_send"}) {
    expect_one_message(run(how, 40), 2,
                       fmt::format("rank {} of {} failed: this rank continued after an error "
                                   "that left a call unfinished\n",
                                   last(), ranks()));
  }
}

TEST_P(LostRank, that_is_killed_ends_the_job) {
  const Ended ended = run("be_killed", 40);
  EXPECT_NE(ended.code, 0) << ended.output;
  EXPECT_LT(ended.seconds, 2 + to_start) << ended.output;
}

TEST_P(LostRank, is_not_one_that_is_stopped_for_a_second) {
  const Ended ended = run("pause", 20);
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(ended.output, "done\n");
  EXPECT_GT(ended.seconds, 1);
}

TEST_P(LostRank, is_not_one_that_finishes_early) {
  const Ended ended = run("finish_early", 1);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "done\n");
  EXPECT_GT(ended.seconds, 3);
}

TEST_P(LostRank, is_not_one_that_made_all_its_calls) {
  const Ended ended = run("contribute_and_finish", 20);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, fmt::format("gathered {}\ndone\n", ranks()));
}

TEST(LostRankOfOthers, is_reported_after_the_time_limit) {
  const Ended ended = run("embedded_program lose_last", 2, 2);
  expect_one_message(ended, 2 + 3,
                     "rank 0 of 2 failed: waited 2 s for other ranks in allreduce, which is the "
                     "limit set by WEFT_TIMEOUT\n");
}

TEST(LostRankOfOthers, is_not_one_that_is_late_after_launch) {
  const Ended ended = run("embedded_program be_late_after_launch", 2, 20);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "sum 2\n");
}

TEST(LostRankOfOthers, is_named_by_its_job_rank) {
  const Ended ended = run("embedded_program fault_in_a_part", 4, 20);
  EXPECT_NE(ended.code, 0);
  EXPECT_EQ(occurrences(ended.output, "weft: rank 3: the host "), 1) << ended.output;
}

TEST(LostRankOfOthers, that_is_stopped_in_finalize_does_not_block_others) {
  const Ended ended = run("embedded_program stop_in_finalize", 2, 1);
  expect_one_message(ended, 1 + 3,
                     "rank 0 of 2 failed: waited 1 s in MPI_Finalize, which is the limit set by "
                     "WEFT_TIMEOUT\n");
}

}  // namespace
