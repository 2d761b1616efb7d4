// A checkpoint: whatever is in the file, a solver refuses it with an Error, or continues with the x
// and the history that are in it. Inputs are tried as they are, which must be refused unless they
// are one of Weft's own, and once more with the checksums that they should have.

#include <weft/core/error.hpp>

#include "faults/fuzz/checkpoint_problem.hpp"
#include "faults/fuzz/fuzz_target.hpp"
#include "solve/support/forged_checkpoint.hpp"

#include <algorithm>
#include <cstring>

namespace {

using namespace weft;
using faults::expect;

/// True if a solver continues from the file.
bool resumes(const std::string& file) {
  const std::string path = faults::file_with(file);
  try {
    const auto solver = faults::make_fuzzed_solver(path, 4);
    const auto image = test::take_apart(file);
    expect(image.has_value(), "a file that does not begin like a checkpoint");
    std::vector<double> x = solver->x().to_host();
    expect(std::memcmp(x.data(), image->body.data(), x.size() * sizeof(double)) == 0,
           "another x than in the file");
    const auto& history = solver->history();
    expect(!history.empty() && history.back().iteration == solver->iteration(),
           "a history of other iterations");
    std::vector<double> numbers(4 * history.size());
    const std::size_t bytes = numbers.size() * sizeof(double);
    expect(image->body.size() >= bytes, "a history that is not in the file");
    std::memcpy(numbers.data(), image->body.data() + image->body.size() - bytes, bytes);
    for (std::size_t i = 0; i < history.size(); ++i) {
      expect(static_cast<double>(history[i].iteration) == numbers[4 * i], "another history");
      expect(std::memcmp(&history[i].residual_norm, &numbers[4 * i + 1], sizeof(double)) == 0,
             "another norm");
    }
    solver->run();
    return true;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    expect(text.size() < 1000, "a message that is too long");
    expect(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }),
           "a message with bytes of the file");
    return false;
  }
}

/// Whether a file has the checksums that it should have.
bool is_sealed(const std::string& file) {
  const auto image = test::take_apart(file);
  return image && test::sealed(*image) == file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = faults::as_text(data, size);
  expect(!resumes(file) || is_sealed(file), "a file with wrong checksums was taken");
  if (auto image = test::take_apart(file)) resumes(test::sealed(std::move(*image)));
  return 0;
}
