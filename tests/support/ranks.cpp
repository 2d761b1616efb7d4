#include "support/ranks.hpp"

#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::test {
namespace {

using Seconds = std::chrono::duration<double>;

/// The world of the MPI job, and a second communicator for the results of tests. That one does not
/// check calls, which would wait for lost ranks.
struct MpiWorld {
  Comm world;
  Comm control;
};
std::optional<MpiWorld> mpi_world;

std::atomic<int> failures = 0;
thread_local bool failed_fatally = false;

/// Prints the rank on which an assertion failed.
class FailureWatch final : public testing::EmptyTestEventListener {
 public:
  explicit FailureWatch(int rank) : rank_(rank) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = fmt::format("{}.{}", test.test_suite_name(), test.name());
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    ++failures;
    if (result.fatally_failed()) failed_fatally = true;
    if (rank_ == 0) return;  // gtest prints it
    const char* file = result.file_name() == nullptr ? "unknown file" : result.file_name();
    fmt::print(stderr, "[rank {}] {}:{}: Failure in {}\n[rank {}] {}\n", rank_, file,
               result.line_number(), test_, rank_, result.message());
    std::fflush(stderr);
  }

  int rank_;
  std::string test_;  // not available from gtest while it reports a failure
};

void watch_failures(int rank) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new FailureWatch(rank));
  if (rank == 0) return;
  delete listeners.Release(listeners.default_result_printer());
  delete listeners.Release(listeners.default_xml_generator());
}

/// Waits for all ranks; ends the job if one is lost.
std::vector<int> failures_of_ranks(int mine) {
  const Comm& control = mpi_world->control;
  const std::vector<int> in = {mine};
  std::vector<int> all(static_cast<std::size_t>(control.size()));
  const Parts parts(std::vector<index_t>(all.size(), 1));
  const auto start = std::chrono::steady_clock::now();
  const Seconds limit(mine != 0 ? 10 : 100);
  Request request = control.start_all_gather_v(in, all, parts);
  while (!request.test()) {
    if (std::chrono::steady_clock::now() - start > limit) {
      control.abort(mine != 0 ? "a test failed here, and the other ranks are still busy with it"
                              : "the other ranks are still busy with a test that is over here");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return all;
}

void on_mpi(const std::function<void(Comm)>& body) {
  const int before = failures;
  std::exception_ptr error;
  // Creating an NCCL communicator takes most of a second.
  const bool slow = mpi_world->world.route(other_device()).name == "nccl";
  try {
    body(slow ? mpi_world->world : mpi_world->world.dup());
  } catch (...) {
    error = std::current_exception();
  }
  const int mine = failures - before + (error != nullptr ? 1 : 0);
  const std::vector<int> all = failures_of_ranks(mine);
  if (error != nullptr) std::rethrow_exception(error);
  if (mine != 0 || mpi_world->control.rank() != 0) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != 0) ADD_FAILURE() << "failed on rank " << rank << ", see there";
  }
}

/// Chooses the route of GPU memory as launch does.
void choose_route(const Comm& comm) {
  if (other_device().kind != DeviceKind::cuda) return;
  // NCCL accepts processes that share a GPU only if they appear to be on several hosts.
  setenv("NCCL_HOSTID", std::to_string(comm.rank()).c_str(), 0);
  static_cast<void>(comm.on(other_device()));
}

void on_threads(const std::function<void(Comm)>& body) {
  run_threads(ranks(), [&](Comm comm) {
    failed_fatally = false;
    choose_route(comm);
    body(comm);
    if (failed_fatally) {
      throw Error(fmt::format("rank {} left the test by a failed assertion", comm.rank()));
    }
  });
}

int run_on_mpi(const Comm& world) {
  if (world.transport() != "mpi") {
    if (world.rank() == 0) fmt::print(stderr, "WEFT_TEST_COMM=mpi, but this is no MPI job\n");
    return 2;
  }
  Comm control = world.dup();
  control.check_calls(false);
  choose_route(world);
  mpi_world = MpiWorld{world, control};
  watch_failures(world.rank());
  const int result = RUN_ALL_TESTS();
  const std::vector<int> all = failures_of_ranks(result);
  mpi_world.reset();
  return std::accumulate(all.begin(), all.end(), 0) == 0 ? 0 : 1;
}

}  // namespace

World world() {
  static const World value = [] {
    const char* text = std::getenv("WEFT_TEST_COMM");
    const std::string_view name = text == nullptr ? "thread" : text;
    require(name == "thread" || name == "mpi" || name == "self",
            "WEFT_TEST_COMM='{}' is none of thread, mpi, self", name);
    if (name == "thread") return World::thread;
    return name == "mpi" ? World::mpi : World::self;
  }();
  return value;
}

int ranks() {
  if (world() == World::self) return 1;
  if (world() == World::mpi) return mpi_world->world.size();
  static const int value = [] {
    const char* text = std::getenv("WEFT_TEST_RANKS");
    const int number = text == nullptr ? 2 : std::atoi(text);
    require(number >= 1, "WEFT_TEST_RANKS='{}' is not a number of ranks", text);
    return number;
  }();
  return value;
}

Device other_device() {
  static const Device device = [] {
    const char* name = std::getenv("WEFT_TEST_DEVICE");
    return name == nullptr ? Device::debug() : Device::parse(name);
  }();
  return device;
}

Device message_device() {
  static const Device device = [] {
    const char* text = std::getenv("WEFT_TEST_MEMORY");
    return text != nullptr && std::string_view(text) == "device" ? other_device() : Device::cpu();
  }();
  return device;
}

void on_ranks(const std::function<void(Comm)>& body) {
  switch (world()) {
    case World::thread: return on_threads(body);
    case World::mpi: return on_mpi(body);
    case World::self: return body(Comm::self());
  }
}

int run_all_tests(int& argc, char** argv) {
  if (world() == World::mpi) {
    return launch(argc, argv, std::function<int(Comm)>(run_on_mpi));
  }
  watch_failures(0);
  return RUN_ALL_TESTS();
}

}  // namespace weft::test
