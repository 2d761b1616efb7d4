#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "comm/launch_checks.hpp"
#include "core/environment.hpp"
#include "core/this_rank.hpp"
#include "support/shell.hpp"
#include "support/text.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using namespace weft;
using namespace weft::detail;

// Programs

using test::Ended;
using test::occurrences;

/// Runs a shell command that may use the launch program as $P.
Ended run(const std::string& command) {
  return test::run_shell("P='timeout 30 " WEFT_TEST_PROGRAM_DIR "/launch_program'", command);
}

const std::string mpiexec = WEFT_MPIEXEC;

#define EXPECT_CONTAINS(text, part) EXPECT_EQ(1, std::min(1, occurrences(text, part))) << text

TEST(LaunchOptions, are_removed_from_argv) {
  const Ended ended = run("$P say --ranks 2 a b --device cpu --other=3 -x 5 --comm=thread c");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "arguments: [say] [a] [b] [--other=3] [-x] [5] [c]\n");
}

TEST(LaunchOptions, after_two_dashes_belong_to_the_program) {
  const Ended ended = run("$P say --ranks 1 -- --ranks 7 --help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "arguments: [say] [--] [--ranks] [7] [--help]\n");
}

TEST(LaunchOptions, can_be_given_twice) {
  EXPECT_EQ(run("$P show --ranks 7 --ranks 1 | head -1").output, "1 ranks on thread with cpu\n");
}

TEST(LaunchOptions, choose_transport_and_device) {
  EXPECT_EQ(run("$P show --ranks 2 | head -1").output, "2 ranks on thread with cpu\n");
  EXPECT_EQ(run("$P show --comm self --device debug | head -1").output,
            "1 ranks on self with debug\n");
}

TEST(LaunchOptions, comm_fast_leaves_the_transport_automatic) {
  EXPECT_EQ(run("$P show --comm fast --ranks 2 | head -1").output, "2 ranks on thread with cpu\n");
  EXPECT_EQ(run("WEFT_DEVICE_COMM=fast $P show --comm fast --ranks 1 | head -1").output,
            "1 ranks on thread with cpu\n");
  if (mpiexec.empty()) return;
  EXPECT_CONTAINS(run(mpiexec + " -n 2 $P show --comm fast").output, "2 ranks on mpi with cpu\n");
}

TEST(LaunchOptions, comm_fast_refuses_settings_that_contradict_it) {
  const std::string other =
      "weft: --comm fast: WEFT_DEVICE_COMM requests another route; set it to fast or unset it\n";
  for (const auto& [setting, message] : std::map<std::string, std::string>{
           {"WEFT_FAST=0", "weft: --comm fast: WEFT_FAST=0 forbids it\n"},
           {"WEFT_DEVICE_COMM=nccl", other},
           {"WEFT_DEVICE_COMM=none", other}}) {
    const Ended ended = run(fmt::format("{} $P show --comm fast --ranks 2", setting));
    EXPECT_EQ(ended.code, 2) << setting;
    EXPECT_EQ(ended.output, message);
    EXPECT_EQ(run(fmt::format("{} $P show --comm thread --ranks 2", setting)).code, 0) << setting;
  }
}

TEST(LaunchOptions, print_help_once_instead_of_running) {
  const Ended ended = run("$P fail_alone --help");
  EXPECT_EQ(ended.code, 0);
  for (const char* part :
       {"--ranks", "--comm", "the route fast", "--device", "--help", "mpirun -n"}) {
    EXPECT_CONTAINS(ended.output, part);
  }
  for (const std::string_view name : variable_names()) {
    EXPECT_CONTAINS(ended.output, fmt::format("\n  {}=", name));
  }
}

TEST(LaunchOptions, with_invalid_values_print_one_line) {
  for (const char* bad : {"--ranks 0", "--ranks many", "--ranks", "--ranks 2.5", "--comm pigeon",
                          "--device toaster", "--device cuda:x", "--comm self --ranks 2"}) {
    const Ended ended = run(std::string("$P show ") + bad);
    EXPECT_EQ(ended.code, 2) << bad;
    EXPECT_EQ(ended.output.rfind("weft: ", 0), 0U) << ended.output;
    EXPECT_EQ(occurrences(ended.output, "\n"), 1) << ended.output;
  }
}

TEST(LaunchEnvironment, with_an_invalid_value_prints_one_line) {
  for (const auto& [bad, message] : std::map<std::string, std::string>{
           {"WEFT_CHECK=maybe", "WEFT_CHECK must be 0 or 1, got 'maybe'"},
           {"WEFT_QUIET=", "WEFT_QUIET must be 0 or 1, got ''"},
           {"WEFT_TIMEOUT=soon",
            "WEFT_TIMEOUT must be a number of seconds above 0 and at most 1e9, got 'soon'"},
           {"WEFT_DEVICE_COMM=foo",
            "WEFT_DEVICE_COMM must be auto, fast, nccl, mpi, staged or none, got 'foo'"},
           {"WEFT_GPUS=0;1",
            "WEFT_GPUS must be a list of GPU numbers such as 0,0,1,1, got '0;1'"}}) {
    for (const char* options : {"--ranks 3", "--comm self", "--help"}) {
      const Ended ended = run(fmt::format("export '{}'; $P show {}", bad, options));
      EXPECT_EQ(ended.code, 2) << bad;
      EXPECT_EQ(ended.output, "weft: " + message + "\n");
    }
  }
}

TEST(LaunchEnvironment, notes_mistyped_names) {
  const std::string note =
      "weft: note: WEFT_TIMEOT is set, but Weft has no such variable; did you mean WEFT_TIMEOUT?\n";
  const std::string mistyped = "export WEFT_TIMEOT=3 WEFT_TEST_RANKS=2; ";
  const Ended ended = run(mistyped + "$P say --ranks 1");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, note + "arguments: [say]\n");
  EXPECT_EQ(run(mistyped + "WEFT_QUIET=1 $P say --ranks 1").output, "arguments: [say]\n");
  EXPECT_EQ(occurrences(run(mistyped + "$P --help").output, "WEFT_TIMEOT "), 0);
}

TEST(LaunchEnvironment, is_reported_once_on_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended bad = run("export WEFT_CHECK=maybe; " + mpiexec + " -n 3 $P show");
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(occurrences(bad.output, "weft: WEFT_CHECK must be 0 or 1"), 1) << bad.output;
  const Ended elsewhere =
      run(mpiexec + " -n 1 $P show : -n 1 env WEFT_TIMEOUT=x $P show : -n 1 $P show");
  EXPECT_NE(elsewhere.code, 0);
  EXPECT_EQ(occurrences(elsewhere.output, "weft: "), 1) << elsewhere.output;
  EXPECT_EQ(occurrences(elsewhere.output, "weft: rank 1 of 3: WEFT_TIMEOUT must be "), 1)
      << elsewhere.output;
  const Ended mistyped = run("export WEFT_TIMEOT=3; " + mpiexec + " -n 3 $P show");
  EXPECT_EQ(mistyped.code, 0);
  EXPECT_EQ(occurrences(mistyped.output, "note: WEFT_TIMEOT"), 1) << mistyped.output;
}

TEST(LaunchProgram, runs_on_one_thread_per_core_by_default) {
  const Ended ended = run("$P show | head -1");
  EXPECT_EQ(ended.output,
            fmt::format("{} ranks on thread with cpu\n", this_location().cores.size()));
}

TEST(LaunchProgram, returns_the_largest_code) {
  EXPECT_EQ(run("$P return_rank --ranks 2").code, 11);
  EXPECT_EQ(run("$P show --ranks 2").code, 0);
}

TEST(LaunchProgram, ends_all_threads_when_one_fails) {
  const Ended ended = run("WEFT_QUIET=1 $P fail_alone --ranks 4");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output, "weft: rank 3 of 4 failed: the sky is falling\n");
  EXPECT_LT(ended.seconds, 2);
}

TEST(LaunchProgram, prints_an_error_of_all_threads_once) {
  const Ended same = run("WEFT_QUIET=1 $P fail_together --ranks 3");
  EXPECT_EQ(same.code, 1);
  EXPECT_EQ(occurrences(same.output, "all of us are wrong"), 1) << same.output;
  EXPECT_EQ(occurrences(same.output, "\n"), 1) << same.output;

  const Ended agreed = run("WEFT_QUIET=1 $P complain --ranks 3");
  EXPECT_EQ(agreed.code, 1);
  EXPECT_EQ(agreed.output, "weft: rank 0: no such file\n");
}

TEST(LaunchProgram, names_the_rank_that_aborted) {
  const Ended ended = run("WEFT_QUIET=1 $P give_up --ranks 3");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output, "weft: rank 0 of 3 failed: enough\n");
}

TEST(LaunchProgram, names_the_rank_that_timed_out_once) {
  const Ended ended = run("WEFT_QUIET=1 WEFT_TIMEOUT=0.3 $P come_late --ranks 3");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output,
            "weft: rank 2 of 3 failed: waited 0.3 s for rank 0 in recv, which is the limit set by "
            "WEFT_TIMEOUT\n");
}

TEST(LaunchProgram, prints_one_line_for_errors_of_read) {
  const std::string quiet = "export WEFT_QUIET=1; ";
  for (const std::string& start : {std::string(), mpiexec + " -n 2 "}) {
    if (!start.empty() && mpiexec.empty()) continue;
    const Ended ended = run(quiet + start + "$P --read fail_to_read");
    EXPECT_EQ(ended.code, 2) << ended.output;
    EXPECT_EQ(occurrences(ended.output, "weft: "), 1) << ended.output;
    EXPECT_EQ(occurrences(ended.output, "weft: these are no options\n"), 1) << ended.output;
  }
}

TEST(LaunchProgram, notes_more_threads_than_cores) {
  const std::string one_core = "taskset -c " + std::to_string(this_location().cores.front());
  EXPECT_CONTAINS(run(one_core + " $P show --ranks 2").output, "weft: note: 2 ranks on ");
  EXPECT_EQ(occurrences(run(one_core + " $P show --ranks 1").output, "note"), 0);
  EXPECT_EQ(
      occurrences(run("export WEFT_QUIET=1; " + one_core + " $P show --ranks 2").output, "note"),
      0);
}

TEST(LaunchMpi, runs_under_mpirun) {
  WEFT_SKIP_WITHOUT_MPI();
  EXPECT_CONTAINS(run(mpiexec + " -n 2 $P show").output, "2 ranks on mpi with cpu\n");
  EXPECT_CONTAINS(run(mpiexec + " -n 1 $P show").output, "1 ranks on mpi with cpu\n");
  EXPECT_CONTAINS(run("$P show --comm mpi").output, "1 ranks on mpi with cpu\n");
}

TEST(LaunchMpi, every_rank_returns_the_largest_code) {
  WEFT_SKIP_WITHOUT_MPI();
  EXPECT_EQ(run(mpiexec + " -n 2 $P return_rank").code, 11);
}

TEST(LaunchMpi, refuses_a_different_number_of_ranks) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended ended = run(mpiexec + " -n 2 $P show --ranks 3");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(occurrences(ended.output, "weft: --ranks 3, but the MPI job has 2 ranks"), 1)
      << ended.output;
  EXPECT_CONTAINS(run(mpiexec + " -n 2 $P show --ranks 2").output, "2 ranks on mpi with cpu\n");
}

TEST(LaunchMpi, ends_the_job_when_one_rank_fails) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended ended = run("export WEFT_QUIET=1; " + mpiexec + " -n 3 $P fail_alone");
  EXPECT_NE(ended.code, 0);
  EXPECT_EQ(occurrences(ended.output, "weft: rank 2 of 3 failed: the sky is falling"), 1)
      << ended.output;
  EXPECT_LT(ended.seconds, 5);
}

TEST(LaunchMpi, reports_the_error_of_a_rank_with_a_receive_in_progress) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended ended = run("export WEFT_QUIET=1; " + mpiexec + " -n 2 $P fail_expecting");
  EXPECT_NE(ended.code, 0);
  EXPECT_EQ(occurrences(ended.output, "weft: rank 1 of 2 failed: the sky is falling"), 1)
      << ended.output;
  EXPECT_LT(ended.seconds, 5);
}

TEST(LaunchMpi, ends_normally_when_all_ranks_fail) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended ended = run("export WEFT_QUIET=1; " + mpiexec + " -n 3 $P fail_at_the_end");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(occurrences(ended.output, "weft: rank 2 of 3 failed: the sky is falling"), 1)
      << ended.output;
  EXPECT_EQ(occurrences(ended.output, "MPI_ABORT"), 0) << ended.output;
}

TEST(LaunchMpi, prints_an_error_of_all_ranks_once) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended same = run("export WEFT_QUIET=1; " + mpiexec + " -n 3 $P fail_together");
  EXPECT_EQ(same.code, 1);
  EXPECT_EQ(occurrences(same.output, "weft: all of us are wrong\n"), 1) << same.output;

  const Ended agreed = run("export WEFT_QUIET=1; " + mpiexec + " -n 3 $P complain");
  EXPECT_EQ(agreed.code, 1);
  EXPECT_EQ(occurrences(agreed.output, "weft: rank 0: no such file\n"), 1) << agreed.output;
}

TEST(LaunchMpi, prints_help_and_usage_errors_once) {
  WEFT_SKIP_WITHOUT_MPI();
  EXPECT_EQ(occurrences(run(mpiexec + " -n 2 $P --help").output, "--device"), 1);
  const Ended bad = run(mpiexec + " -n 2 $P --comm pigeon");
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(occurrences(bad.output, "weft: "), 1) << bad.output;
}

TEST(LaunchMpi, that_cannot_be_initialised_is_reported_once) {
  WEFT_SKIP_WITHOUT_MPI();
  const std::string program = WEFT_TEST_PROGRAM_DIR "/no_init_program";
  const Ended alone = run(program + " --comm mpi");
  EXPECT_EQ(alone.code, 2);
  EXPECT_EQ(occurrences(alone.output, "weft: MPI_Init_thread failed: error "), 1) << alone.output;
  const Ended job = run(mpiexec + " -n 2 " + program);
  EXPECT_NE(job.code, 0);
  EXPECT_EQ(occurrences(job.output, "weft: "), 1) << job.output;
}

TEST(LaunchMpi, notes_more_ranks_than_cores) {
  WEFT_SKIP_WITHOUT_MPI();
  const std::string one_core = " taskset -c " + std::to_string(this_location().cores.front()) + " ";
  const Ended ended = run(mpiexec + " -n 2" + one_core + "$P show");
  EXPECT_EQ(occurrences(ended.output, "weft: note: 2 ranks on "), 1) << ended.output;
  EXPECT_CONTAINS(ended.output, "several are bound to the same core");
}

TEST(LaunchMistakes, tasks_of_another_mpi_are_refused) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended first = run("PMI_SIZE=2 PMI_RANK=0 $P show");
  EXPECT_EQ(first.code, 2) << first.output;
  EXPECT_CONTAINS(first.output, "started 2 tasks, but MPI (");
  const Ended second = run("PMI_SIZE=2 PMI_RANK=1 $P show");
  EXPECT_EQ(second.code, 2);
  EXPECT_EQ(second.output, "");
  EXPECT_EQ(run("PMI_SIZE=2 PMI_RANK=0 $P show --comm thread --ranks 1").code, 0);
  EXPECT_EQ(run("PMI_SIZE=2 PMI_RANK=0 $P show --comm self").code, 0);
}

TEST(LaunchMistakes, nested_launchers_are_refused) {
  WEFT_SKIP_WITHOUT_MPI();
  const std::string step = "export SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0 SLURM_STEP_ID=0; ";
  const Ended ended = run(step + mpiexec + " -n 2 $P show");
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_EQ(occurrences(ended.output, "srun started 3 tasks, and in each of them"), 1)
      << ended.output;
  EXPECT_EQ(run(step + mpiexec + " -n 2 $P show --comm mpi").code, 0);
}

// The same with synthetic environments

Environment fake(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

void expect_task(const Task& task, Launcher launcher, int rank, int size) {
  EXPECT_EQ(task.launcher, launcher);
  EXPECT_EQ(task.rank, rank);
  EXPECT_EQ(task.size, size);
}

TEST(LaunchChecks, detect_the_launcher) {
  expect_task(find_task(fake({})), Launcher::none, 0, 0);
  expect_task(find_task(fake({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}})),
              Launcher::open_mpi, 3, 4);
  expect_task(find_task(fake({{"MPI_LOCALNRANKS", "2"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}})),
              Launcher::hydra, 5, 8);
  expect_task(find_task(fake({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})), Launcher::pmi, 1, 2);
  expect_task(find_task(fake({{"PMIX_RANK", "1"}})), Launcher::pmi, 1, 0);
  expect_task(find_task(fake({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "6"}})),
              Launcher::slurm, 2, 6);
}

TEST(LaunchChecks, a_batch_script_is_not_a_launcher) {
  expect_task(find_task(fake({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}})), Launcher::none, 0,
              0);
  expect_task(
      find_task(fake(
          {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "4294967291"}})),
      Launcher::none, 0, 0);
}

TEST(LaunchChecks, invalid_numbers_are_ignored) {
  expect_task(find_task(fake({{"OMPI_COMM_WORLD_SIZE", ""}, {"PMI_RANK", "x"}})), Launcher::none, 0,
              0);
  expect_task(
      find_task(fake({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3000000000"}})),
      Launcher::open_mpi, 0, 4);
  expect_task(find_task(fake({{"OMPI_COMM_WORLD_SIZE", "3000000000"}})), Launcher::none, 0, 0);
}

TEST(LaunchChecks, separate_worlds) {
  const std::string mpirun = separate_worlds_error({Launcher::hydra, 0, 4}, 1, "Open MPI v4.1.4");
  EXPECT_CONTAINS(mpirun, "4 tasks");
  EXPECT_CONTAINS(mpirun, "Open MPI v4.1.4");
  EXPECT_CONTAINS(separate_worlds_error({Launcher::slurm, 0, 4}, 1, "x"), "srun --mpi=pmix");
  EXPECT_EQ(separate_worlds_error({Launcher::hydra, 0, 4}, 4, "x"), "");
  EXPECT_EQ(separate_worlds_error({Launcher::hydra, 0, 1}, 1, "x"), "");
  EXPECT_EQ(separate_worlds_error({Launcher::pmi, 0, 0}, 1, "x"), "");
}

TEST(LaunchChecks, nested_launchers) {
  std::map<std::string, std::string> step = {
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(nested_launchers_error(fake(step)), "");
  auto open_mpi = step;
  open_mpi["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_CONTAINS(nested_launchers_error(fake(open_mpi)), "srun -n 6");
  auto hydra = step;
  hydra["MPI_LOCALNRANKS"] = "2";
  EXPECT_CONTAINS(nested_launchers_error(fake(hydra)), "--comm mpi");
  auto pmi2 = step;
  pmi2["PMI_RANK"] = "1";
  pmi2["PMI_SIZE"] = "3";
  EXPECT_EQ(nested_launchers_error(fake(pmi2)), "");
}

TEST(LaunchChecks, a_launcher_in_an_allocation_is_not_nested) {
  std::map<std::string, std::string> job = {{"SLURM_PROCID", "0"},
                                            {"SLURM_NTASKS", "8"},
                                            {"OMPI_COMM_WORLD_SIZE", "8"},
                                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  EXPECT_EQ(nested_launchers_error(fake(job)), "");
  job["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(nested_launchers_error(fake(job)), "");
  // Processes that mpirun starts on each node with its own srun.
  job["SLURM_STEP_NUM_TASKS"] = "2";
  job["SLURM_STEP_NUM_NODES"] = "2";
  EXPECT_EQ(nested_launchers_error(fake(job)), "");
}

TEST(LaunchChecks, a_build_without_mpi) {
  EXPECT_CONTAINS(no_mpi_error({Launcher::slurm, 0, 4}), "--ranks 4");
  EXPECT_EQ(no_mpi_error({Launcher::slurm, 0, 1}), "");
}

TEST(LaunchChecks, oversubscribed_hosts) {
  EXPECT_EQ(oversubscription_note({{"a", {0, 1}}, {"a", {0, 1}}}), "");
  EXPECT_EQ(oversubscription_note({{"a", {0}}, {"b", {0}}}), "");
  EXPECT_EQ(oversubscription_note({{"a", {0, 1, 4}}, {"a", {0, 1}}, {"a", {4}}, {"a", {4, 1}}}),
            "4 ranks on a share 3 cores (bound to 0, 1, 4)");
  EXPECT_EQ(oversubscription_note({{"a", {1, 2}}, {"b", {3}}, {"b", {3}}}),
            "2 ranks on b share 1 core (bound to 3); several are bound to the same core (3)");
  EXPECT_EQ(oversubscription_note({{"a", {0}}, {"a", {0}}, {"a", {1, 2}}}),
            "3 ranks on a share 3 cores (bound to 0-2); several are bound to the same core (0)");
}

TEST(LaunchChecks, locations_survive_packing) {
  const RankLocation location = {"node17", {0, 7, 8, 63, 1023}};
  const RankLocation same = unpack(pack(location));
  EXPECT_EQ(same.host, location.host);
  EXPECT_EQ(same.cores, location.cores);
  EXPECT_EQ(unpack(pack({std::string(300, 'x'), {}})).host, std::string(63, 'x'));
}

TEST(LaunchChecks, ranks_of_a_host_take_its_gpus_in_turn) {
  const std::vector<RankLocation> locations = {
      {"a", {}}, {"b", {}}, {"a", {}}, {"a", {}}, {"b", {}}};
  const std::vector<int> expected = {0, 0, 1, 0, 1};
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(gpu_for_rank(locations, rank, 2, {}), expected[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(gpu_for_rank(locations, rank, 1, {}), 0);
  }
  const std::vector<int> list = {3, 1, 1};
  const std::vector<int> listed = {3, 3, 1, 1, 1};
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(gpu_for_rank(locations, rank, 4, list), listed[static_cast<std::size_t>(rank)]);
    EXPECT_THROW(gpu_for_rank(locations, rank, 3, list), ArgumentError) << "there is no GPU 3";
  }
  for (const int rank : {0, 2, 3}) {  // all ranks of the host with more ranks than entries
    try {
      gpu_for_rank(locations, rank, 4, {0, 1});
      ADD_FAILURE() << "no exception was thrown on rank " << rank;
    } catch (const ArgumentError& error) {
      EXPECT_STREQ(error.what(), "WEFT_GPUS has 2 entries, but a has 3 ranks");
    }
  }
  EXPECT_EQ(gpu_for_rank(locations, 4, 4, {0, 1}), 1);
}

TEST(LaunchChecks, threads_share_cores) {
  const std::vector<RankLocation> locations = {
      {"a", {0, 1, 2, 3}}, {"a", {0, 1, 2, 3}}, {"a", {4}}, {"b", {0, 1, 2, 3}}, {"c", {}}};
  EXPECT_EQ(threads_for_rank(locations, 0), 2);
  EXPECT_EQ(threads_for_rank(locations, 2), 1);
  EXPECT_EQ(threads_for_rank(locations, 3), 4);
  EXPECT_EQ(threads_for_rank(locations, 4), 1);
}

// Threads of this process

TEST(LaunchThreads, run_every_rank_once) {
  std::atomic<int> seen{0};
  run_threads(3, [&](const Comm& world) {
    EXPECT_EQ(world.size(), 3);
    seen += 1 << (4 * world.rank());
  });
  EXPECT_EQ(seen, 0x111);
}

TEST(LaunchThreads, throw_the_error_of_the_first_to_fail_with_its_type) {
  const auto fail = [](const Comm& world) {
    if (world.rank() == 2) throw std::out_of_range("two");
    world.barrier();
  };
  try {
    run_threads(4, fail);
    FAIL() << "no exception was thrown";
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "two");
  }
}

TEST(LaunchThreads, throw_what_all_ranks_agreed_on) {
  const auto complain = [](const Comm& world) { world.agree(world.rank() == 1 ? "broken" : ""); };
  EXPECT_THROW(run_threads(3, complain), AgreedError);
}

TEST(LaunchThreads, report_a_rank_that_aborted) {
  const auto give_up = [](const Comm& world) {
    if (world.rank() == 1) world.abort("enough");
    world.barrier();
  };
  try {
    run_threads(3, give_up);
    FAIL() << "no exception was thrown";
  } catch (const AbortedError& error) {
    EXPECT_EQ(error.failed_rank(), 1);
    EXPECT_EQ(error.reason(), "enough");
  }
}

TEST(LaunchThreads, refuse_invalid_numbers_of_ranks) {
  EXPECT_THROW(run_threads(0, [](const Comm&) {}), ArgumentError);
  EXPECT_THROW(run_threads(100000, [](const Comm&) {}), ArgumentError);
  const Ended ended = run("$P show --ranks 100000");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "weft: the number of thread ranks must be 1 to 1024, got 100000\n");
}

#if defined(_OPENMP)
TEST(LaunchThreads, share_the_cores_and_leave_the_caller_its_threads) {
  const int before = omp_get_max_threads();
  const int cores = static_cast<int>(this_location().cores.size());
  const char* chosen = std::getenv("OMP_NUM_THREADS");
  run_threads(2, [&](const Comm&) {
    const int expected = chosen == nullptr ? std::max(1, cores / 2) : before;
    EXPECT_EQ(omp_get_max_threads(), expected);
  });
  EXPECT_EQ(omp_get_max_threads(), before);
}
#endif

TEST(LaunchThreads, leave_the_caller_its_rank) {
  set_this_rank(5);
  run_threads(2, [](Comm comm) { EXPECT_EQ(this_rank(), comm.rank()); });
  EXPECT_EQ(this_rank(), 5);
  set_this_rank(-1);
}

TEST(LaunchMpiComm, needs_mpi) {
#ifndef WEFT_TEST_MPIEXEC
  EXPECT_THROW(mpi_comm(0), Error);
#else
  GTEST_SKIP() << "this build has MPI";
#endif
}

}  // namespace
