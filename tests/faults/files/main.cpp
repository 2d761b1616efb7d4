// Makes every file-system call of a checkpoint, a .npy file or a report fail in every way, one at a
// time, and checks the files afterwards.
//
//   weft_file_faults [--seconds N] [--seed S]
//
// Without --seconds, once; with it, further rounds with two random faults at a time until the time
// is over. The seed of these is printed; by default each run has a new one. Prints failures, and
// "N passed, M failed" at the end.

#include "faults/files/interposer.hpp"
#include "faults/files/scenarios.hpp"
#include "faults/support/process.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace weft::faults;
using Clock = std::chrono::steady_clock;

constexpr double longest_seconds = 20;
constexpr int killed = -1;
constexpr int hung = -2;

/// How the process of a scenario ended.
struct Outcome {
  /// 0: it worked, 1: it threw; else the status, `killed` or `hung`.
  int code = 0;
  bool fired = false;
  std::array<int, call_count> calls{};
  std::string message;
};

/// State of the process of a scenario, shared with its parent.
struct Report {
  bool done = false;
  bool fired = false;
  std::array<int, call_count> calls{};
  std::array<char, 2000> message{};
};

class SharedReport {
 public:
  SharedReport() {
    void* memory =
        mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    report_ = new (memory) Report;
  }
  ~SharedReport() { munmap(report_, sizeof(Report)); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;

  Report* operator->() { return report_; }

 private:
  Report* report_ = nullptr;
};

/// Runs in a new process, which may be killed.
Outcome run_with(const Scenario& scenario, const std::string& folder,
                 const std::vector<Fault>& faults) {
  SharedReport report;
  const Ended ended = run_process(
      [&] {
        int code = 0;
        watch(folder);
        for (const Fault& fault : faults) arm(fault);
        try {
          scenario.run(folder);
        } catch (const std::exception& error) {
          std::strncpy(report->message.data(), error.what(), report->message.size() - 1);
          code = 1;
        }
        report->fired = has_fired();
        report->calls = calls();
        report->done = true;
        disarm();
        return code;
      },
      longest_seconds);
  Outcome outcome;
  outcome.code = ended.hung                ? hung
                 : ended.signal == SIGKILL ? killed
                 : ended.signal != 0       ? 1000 + ended.signal
                                           : ended.code;
  if (report->done) {
    outcome.fired = report->fired;
    outcome.calls = report->calls;
    outcome.message = report->message.data();
  }
  return outcome;
}

std::string leftovers(const std::string& folder) {
  std::string all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".partial") != std::string::npos || name.ends_with(".lock")) all += " " + name;
  }
  return all;
}

bool has(const std::vector<Fault>& faults, std::initializer_list<Call> calls) {
  for (const Fault& fault : faults) {
    for (const Call call : calls) {
      if (fault.call == call) return true;
    }
  }
  return false;
}

/// Why a run did not end as it must; empty if it did.
std::string error(const Scenario& scenario, const std::string& folder,
                  const std::vector<Fault>& faults, const Outcome& outcome) {
  if (outcome.code == hung) return "timeout";
  if (outcome.code > 1) return fmt::format("it ended with status {}", outcome.code);
  if (outcome.code == killed) {
    if (std::string what = scenario.error(folder, false); !what.empty()) return what;
    if (!scenario.cleans_up(folder)) return {};
    const std::string left = leftovers(folder);
    return left.empty() ? "" : "files of the killed process were not removed:" + left;
  }
  if (outcome.code == 1) {
    const std::string& text = outcome.message;
    if (!outcome.fired) return "it failed without a fault: " + text;
    const bool is_clear = text.find(folder) != std::string::npos;
    if (!is_clear || text.size() > 600 || text.find('\n') != std::string::npos ||
        text.find("ranks disagree") != std::string::npos)
      return "the message is not clear: " + text;
  }
  const std::string left = leftovers(folder);
  // Files that cannot be removed stay, and so does a lock file whose state is unknown, which is
  // harmless.
  const bool only_lock = left.ends_with(".lock") && left.find(".partial") == std::string::npos;
  const bool may_stay = has(faults, {Call::unlink}) ||
                        (only_lock && has(faults, {Call::flock, Call::fstat, Call::lstat}));
  if (!left.empty() && !may_stay) return "it left files:" + left;
  return scenario.error(folder, outcome.code == 0);
}

/// Counts passed and failed runs, in a folder that it creates and removes.
class Campaign {
 public:
  Campaign() {
    const bool has_memory = fs::is_directory("/dev/shm");
    folder_ = std::string(has_memory ? "/dev/shm" : "/tmp") + "/weft-faults-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;
  ~Campaign() { fs::remove_all(folder_); }

  Outcome check(const Scenario& scenario, const std::vector<Fault>& faults) {
    const std::string folder = folder_ + "/" + std::to_string(passed_ + failed_);
    fs::create_directory(folder);
    scenario.prepare(folder);
    const Outcome outcome = run_with(scenario, folder, faults);
    std::string what = error(scenario, folder, faults, outcome);
    if (what.empty() && faults.empty() && outcome.code != 0) what = outcome.message;
    fs::remove_all(folder);
    if (what.empty()) {
      ++passed_;
      return outcome;
    }
    ++failed_;
    std::string how;
    for (const Fault& fault : faults) how += (how.empty() ? "" : "; ") + to_string(fault);
    fmt::print("FAILED: {}: {}: {}\n", scenario.name(), how, what);
    std::fflush(stdout);
    return outcome;
  }
  /// A link at the path of a temporary file that is about to be created.
  void check_planted_link() {
    const std::string folder = folder_ + "/link";
    fs::create_directory(folder);
    const auto all = scenarios();
    for (const auto& scenario : all) {
      const std::string victim = folder + "/victim";
      const std::string trap = scenario->path(folder) + ".partial-00000000000000ff";
      if (std::FILE* file = std::fopen(victim.c_str(), "w")) std::fclose(file);
      fs::create_symlink(victim, trap);
      bool threw = false;
      watch(folder);
      predict_entropy(0xff);
      try {
        scenario->run(folder);
      } catch (const std::exception&) {
        threw = true;
      }
      disarm();
      const bool reads = scenario->name().starts_with("read");
      const bool good = threw && fs::file_size(victim) == 0 && (reads || fs::is_symlink(trap));
      if (!good) fmt::print("FAILED: {}: follows or removes a planted link\n", scenario->name());
      ++(good ? passed_ : failed_);
      for (const auto& entry : fs::directory_iterator(folder)) fs::remove(entry);
    }
  }

  int passed() const { return passed_; }
  int failed() const { return failed_; }

 private:
  std::string folder_;
  int passed_ = 0;
  int failed_ = 0;
};

/// All faults of one call.
std::vector<Fault> faults_of(Call call, int number) {
  std::vector<Fault> all;
  for (const int error : {EIO, ENOSPC, EACCES, EINTR})
    all.push_back({call, number, Action::fail, error});
  for (const int error : {EIO, ENOENT}) all.push_back({call, number, Action::fail, error, true});
  const bool changes = call == Call::rename || call == Call::unlink || call == Call::fsync ||
                       call == Call::ftruncate || call == Call::pwrite;
  if (changes) all.push_back({call, number, Action::fail_after, EIO});
  if (call == Call::flock) {
    for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EWOULDBLOCK})
      all.push_back({call, number, Action::fail, error});
  }
  all.push_back({call, number, Action::kill_before});
  if (call == Call::pread || call == Call::pwrite) all.push_back({call, number, Action::cut_short});
  if (call == Call::pwrite) all.push_back({call, number, Action::kill_within});
  all.push_back({call, number, Action::kill_after});
  return all;
}

void one_by_one(Campaign& campaign, const Scenario& scenario) {
  const Outcome undisturbed = campaign.check(scenario, {});
  int calls = 0;
  for (int kind = 0; kind < call_count; ++kind) {
    const int count = undisturbed.calls[static_cast<std::size_t>(kind)];
    calls += count;
    for (int number = 1; number <= count; ++number) {
      for (const Fault& fault : faults_of(static_cast<Call>(kind), number))
        campaign.check(scenario, {fault});
    }
  }
  fmt::print("{}: {} calls\n", scenario.name(), calls);
  std::fflush(stdout);
}

void two_at_random(Campaign& campaign, const Scenario& scenario, std::mt19937& random) {
  std::vector<Fault> faults;
  for (int times = 0; times < 2; ++times) {
    const auto call = static_cast<Call>(random() % static_cast<unsigned>(call_count));
    const std::vector<Fault> all = faults_of(call, 1 + static_cast<int>(random() % 24));
    faults.push_back(all[random() % all.size()]);
  }
  campaign.check(scenario, faults);
}

struct Options {
  double seconds = 0;
  std::optional<unsigned> seed;
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    char* end = nullptr;
    if (i + 1 == argc) return std::nullopt;
    const double value = std::strtod(argv[i + 1], &end);
    if (end == argv[i + 1] || *end != '\0' || !(value >= 0)) return std::nullopt;
    if (name == "--seconds") {
      options.seconds = value;
    } else if (name == "--seed") {
      options.seed = static_cast<unsigned>(value);
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) {
    fmt::print(stderr, "usage: {} [--seconds N] [--seed S]\n", argv[0]);
    return 2;
  }
  // A process that has started OpenMP threads cannot fork and use them.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  const auto start = Clock::now();
  const std::chrono::duration<double> limit(options->seconds);
  Campaign campaign;
  const auto all = scenarios();
  campaign.check_planted_link();
  for (const auto& scenario : all) one_by_one(campaign, *scenario);
  const unsigned seed = options->seed.value_or(std::random_device{}());
  if (options->seconds > 0) fmt::print("two faults at a time: seed {}\n", seed);
  std::mt19937 random(seed);
  while (Clock::now() - start < limit) {
    for (const auto& scenario : all) two_at_random(campaign, *scenario, random);
  }
  fmt::print("{} passed, {} failed\n", campaign.passed(), campaign.failed());
  return campaign.failed() == 0 && campaign.passed() > 0 ? 0 : 1;
}
