// Makes the corpus of the checkpoint fuzz target, or checks that it is still valid:
//
//   weft_checkpoint_seeds FOLDER
//   weft_checkpoint_seeds --check FOLDER

#include "faults/fuzz/checkpoint_problem.hpp"
#include "solve/support/forged_checkpoint.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

namespace {

namespace fs = std::filesystem;
using namespace weft;

constexpr index_t last = 3;

std::string seed_of(index_t iteration) { return fmt::format("good_{}", iteration); }

using Forge = std::function<void(test::CheckpointImage&)>;

Forge with_line(const std::string& key, const std::string& text) {
  return [=](test::CheckpointImage& image) { image.line(key) = text; };
}

std::map<std::string, Forge> forgeries() {
  return {
      {"forged_ranks", with_line("ranks", "ranks 4611686018427387904")},
      {"forged_elsewhere",
       [](auto& image) {
         image.line("partition") = "partition 0123456789abcdef";
         image.line("ranks") = "ranks 2";
         image.line("numbers") =
             fmt::format("numbers {} scalars", std::stol(image.line("numbers").substr(8)) / 2);
       }},
      {"forged_history", with_line("history", "history 288230376151711744")},
      {"forged_axes", with_line("array", "array f64 8 1152921504606846976 3 x")},
      {"forged_element", with_line("array", "array f64 2305843009213693952 1 8 x")},
      {"forged_numbers", with_line("numbers", "numbers 1152921504606846976 scalars")},
      {"forged_counter", with_line("integer", "integer -1 iteration")},
      {"forged_names",
       [](auto& image) {
         image.line("array") = "array f64 8 1 9 x (f64 of (3)), r (f64 of (3)), p";
         std::erase_if(image.lines, [](auto& line) { return line.starts_with("array f64 8 1 3"); });
       }},
      {"forged_iteration",
       [](auto& image) {
         const double iteration = 1e300;
         std::memcpy(image.body.data() + image.body.size() - 32, &iteration, sizeof(iteration));
       }},
  };
}

void make_seeds(const std::string& folder) {
  fs::create_directories(folder);
  for (index_t iteration = 1; iteration <= last; ++iteration) {
    fs::remove(folder + "/" + seed_of(iteration));
    faults::make_fuzzed_solver(folder + "/" + seed_of(iteration), iteration)->run();
  }
  const auto good = test::take_apart(test::content_of(folder + "/" + seed_of(2)));
  for (const auto& [name, forge] : forgeries()) {
    test::CheckpointImage image = good.value();
    forge(image);
    std::ofstream(folder + "/" + name, std::ios::binary) << test::sealed(image);
  }
}

/// Checks that solvers resume from copies of the good seeds.
int check_seeds(const std::string& folder) {
  std::string copy = (fs::temp_directory_path() / "weft-seed-XXXXXX").string();
  if (mkdtemp(copy.data()) == nullptr) return 1;
  int stale = 0;
  for (index_t iteration = 1; iteration <= last; ++iteration) {
    const std::string path = copy + "/" + seed_of(iteration);
    try {
      fs::copy_file(folder + "/" + seed_of(iteration), path);
      if (faults::make_fuzzed_solver(path, 100)->iteration() != iteration) ++stale;
    } catch (const std::exception& error) {
      fmt::print("FAILED: {}\n", error.what());
      ++stale;
    }
  }
  fs::remove_all(copy);
  fmt::print("{} passed, {} failed\n", last - stale, stale);
  return stale == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--check") return check_seeds(arguments[1]);
  if (arguments.size() != 1) {
    fmt::print(stderr, "usage: {} [--check] FOLDER\n", argv[0]);
    return 2;
  }
  make_seeds(arguments[0]);
  return 0;
}
