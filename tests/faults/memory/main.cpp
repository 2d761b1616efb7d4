// Makes every allocation of a small solve fail in turn, alone or with all later ones. Each time the
// program must end in time with one message and exit code 1, or still solve its problem.

#include "faults/memory/malloc.hpp"
#include "faults/memory/solve.hpp"
#include "faults/support/process.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <string>

namespace {

using namespace weft::faults;

constexpr double most_seconds = 2.0;

int count_lines(const std::string& text) {
  int lines = 0;
  for (const char each : text) lines += each == '\n' ? 1 : 0;
  return lines;
}

/// Why a run did not end as it must; empty if it did.
std::string evaluate(const Ended& ended) {
  if (ended.hung) return fmt::format("did not end within {} s: {}", most_seconds, ended.output);
  if (ended.signal != 0) return fmt::format("signal {}: {}", ended.signal, ended.output);
  if (ended.code == 0 && ended.output.empty()) return "";
  const bool one_message = ended.output.rfind("weft: ", 0) == 0 && count_lines(ended.output) == 1;
  if (ended.code == 1 && one_message) return "";
  return fmt::format("exit code {}: {}", ended.code, ended.output);
}

struct Count {
  int passed = 0;
  int failed = 0;
};

/// For every n, until there are no more allocations or no more time.
void run_all(Failing which, std::int64_t end, Allocations& allocations, Count& count) {
  for (std::int64_t n = 1; now() < end; ++n) {
    new (&allocations) Allocations;
    const Ended ended = run_process(
        [&] {
          fail_allocations(n, which, allocations);
          const int code = solve();
          stop_failing_allocations();
          return code;
        },
        most_seconds);
    const std::string error = evaluate(ended);
    ++(error.empty() ? count.passed : count.failed);
    if (!error.empty()) {
      fmt::print("allocation {}{} fails: {}\n", n,
                 which == Failing::one ? "" : " and all that follow", error);
    }
    if (allocations.failed == 0) {
      fmt::print("{} allocations fail {}\n", n - 1,
                 which == Failing::one ? "alone" : "with all that follow");
      return;
    }
  }
}

}  // namespace

/// weft_memory_faults [--seconds S]: once, or repeatedly (threads interleave differently).
int main(int argc, char** argv) {
  double seconds = 0;
  if (argc == 3 && std::string(argv[1]) == "--seconds") seconds = std::atof(argv[2]);
  setenv("WEFT_QUIET", "1", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  void* memory =
      mmap(nullptr, sizeof(Allocations), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto& allocations = *static_cast<Allocations*>(memory);

  Count count;
  const std::int64_t start = now();
  const std::int64_t end =
      seconds > 0 ? start + static_cast<std::int64_t>(seconds * 1e9) : INT64_MAX;
  do {
    run_all(Failing::one, end, allocations, count);
    run_all(Failing::all_from_one, end, allocations, count);
  } while (seconds > 0 && now() < end);
  fmt::print("{} passed, {} failed\n", count.passed, count.failed);
  return count.failed == 0 ? 0 : 1;
}
