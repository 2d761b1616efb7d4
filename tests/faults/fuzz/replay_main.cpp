// Runs a fuzz target without libFuzzer: all files of a corpus, then reproducible mutations of them.
//
//   weft_replay_X [--runs N] [--seconds N] [--seed S] FOLDER...
//
// A child process runs the inputs. An input that ends it is saved in the current folder. Ends with
// "N passed, M failed".

#include "faults/fuzz/fuzz_target.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_input = 1 << 16;

/// State of the child process, shared with the parent.
struct Shared {
  long passed = 0;
  std::size_t size = 0;
  std::array<char, longest_input> input{};
};

struct Options {
  long runs = 20'000;
  double seconds = 0;
  unsigned seed = 1;
  std::vector<std::string> folders;
};

bool parse(Options& options, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--")) {
      options.folders.emplace_back(name);
      continue;
    }
    if (++i == argc) return false;
    char* end = nullptr;
    const double value = std::strtod(argv[i], &end);
    if (end == argv[i] || *end != '\0' || !(value >= 0 && value < 1e15)) return false;
    if (name == "--runs") {
      options.runs = static_cast<long>(value);
    } else if (name == "--seconds") {
      options.seconds = value;
    } else if (name == "--seed") {
      options.seed = static_cast<unsigned>(value);
    } else {
      return false;
    }
  }
  return !options.folders.empty();
}

std::vector<std::string> read_corpus(const std::vector<std::string>& folders) {
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    corpus.push_back(weft::test::content_of(path.string()));
    if (corpus.back().size() > longest_input) {
      throw std::runtime_error(fmt::format("{} has {} bytes; the longest input has {}",
                                           path.string(), corpus.back().size(), longest_input));
    }
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, unsigned seed) : corpus_(corpus), random_(seed) {}

  std::string next() {
    std::string input = corpus_[below(corpus_.size())];
    for (std::size_t times = 1 + below(6); times > 0; --times) change(input);
    input.resize(std::min(input.size(), longest_input));
    return input;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }

  void change(std::string& input) {
    static constexpr std::array<std::string_view, 12> numbers = {"0",
                                                                 "-1",
                                                                 "1",
                                                                 "7",
                                                                 "65536",
                                                                 "2147483648",
                                                                 "4294967296",
                                                                 "1152921504606846976",
                                                                 "4611686018427387904",
                                                                 "9223372036854775807",
                                                                 "9223372036854775808",
                                                                 "nan"};
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = below(1 + std::min<std::size_t>(input.size() - at, 16));
    switch (below(7)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      case 2: input.erase(at, length); break;
      case 3: input.insert(at, input.substr(at, length)); break;
      case 4: input.insert(at, 1, static_cast<char>(below(256))); break;
      case 5: {
        const std::string& other = corpus_[below(corpus_.size())];
        input.replace(at, length, other.substr(below(other.size()), below(40)));
        break;
      }
      default: {
        const std::size_t digit = input.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end =
            std::min(input.find_first_not_of("0123456789", digit), input.size());
        input.replace(digit, end - digit, numbers[below(numbers.size())]);
      }
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937 random_;
};

void try_input(Shared& shared, const std::string& input) {
  shared.size = input.size();
  std::copy(input.begin(), input.end(), shared.input.begin());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  ++shared.passed;
}

void try_all(Shared& shared, const std::vector<std::string>& corpus, const Options& options) {
  for (const std::string& input : corpus) try_input(shared, input);
  Mutator mutator(corpus, options.seed);
  const auto start = Clock::now();
  const std::chrono::duration<double> limit(options.seconds);
  for (long run = 0; options.seconds > 0 ? Clock::now() - start < limit : run < options.runs; ++run)
    try_input(shared, mutator.next());
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  if (!parse(options, argc, argv)) {
    fmt::print(stderr, "usage: {} [--runs N] [--seconds N] [--seed S] FOLDER...\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(options.folders);
  if (corpus.empty()) {
    fmt::print(stderr, "{}: the corpus is empty\n", argv[0]);
    return 2;
  }
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  Shared& shared = *new (memory) Shared;
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    return 2;
  }
  if (child == 0) {
    try_all(shared, corpus, options);
    std::exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    std::perror("waitpid");
    return 2;
  }
  const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  if (failed) {
    const std::string path = fs::path(argv[0]).filename().string() + ".failed";
    std::ofstream(path, std::ios::binary)
        .write(shared.input.data(), static_cast<std::streamsize>(shared.size));
    fmt::print("FAILED: status {:#x}; the input is in {}\n", status, path);
  }
  fmt::print("{} passed, {} failed\n", shared.passed, failed ? 1 : 0);
  return failed || shared.passed == 0 ? 1 : 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", argv[0], error.what());
  return 2;
}
