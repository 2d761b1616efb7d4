#include "solve/support/forged_checkpoint.hpp"

#include "core/hash.hpp"
#include "solve/solver_state.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace weft::test {
namespace {

constexpr std::string_view magic = "weft checkpoint 1 ";
constexpr std::size_t first_line_bytes = 52;

std::uint64_t text_checksum(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text)
    sum = detail::mix_checksum_bits(sum + 1 + static_cast<unsigned char>(c));
  return sum;
}

/// Adds up the checksum of a body region by region.
class BodySum {
 public:
  explicit BodySum(const std::string& body) : body_(body) {}

  /// False if the region is not in the body, or not made of whole words.
  bool add(index_t count, index_t bytes, index_t word) {
    index_t size = 0;
    if (count < 0 || bytes < 0 || __builtin_mul_overflow(count, bytes, &size)) return false;
    if (size > static_cast<index_t>(body_.size()) - place_ || size % word != 0) return false;
    sum_ += detail::checksum_of(body_.data() + place_, size, word, place_);
    place_ += (size + 7) / 8 * 8;
    return place_ <= static_cast<index_t>(body_.size());
  }
  std::uint64_t sum() const { return sum_; }

 private:
  const std::string& body_;
  index_t place_ = 0;
  std::uint64_t sum_ = 0;
};

std::optional<std::uint64_t> body_checksum(const CheckpointImage& image) {
  BodySum sum(image.body);
  index_t ranks = 0;
  index_t history = 0;
  for (const std::string& line : image.lines) {
    std::istringstream words(line);
    std::string key;
    std::string dtype;
    index_t bytes = 0;
    words >> key;
    if (key == "ranks") words >> ranks;
    if (key == "history") words >> history;
    if (key == "numbers" && !(words >> bytes && sum.add(ranks, bytes, 8))) return std::nullopt;
    if (key != "array") continue;
    index_t axes = 0;
    if (!(words >> dtype >> bytes >> axes) || axes < 0 || axes > 8) return std::nullopt;
    index_t count = 1;
    for (index_t axis = 0, extent = 0; axis < axes; ++axis) {
      if (!(words >> extent) || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
    }
    if (!sum.add(count, bytes, dtype == "f32" || dtype == "c64" ? 4 : 8)) return std::nullopt;
  }
  if (!sum.add(history, 32, 8)) return std::nullopt;
  return sum.sum();
}

}  // namespace

std::string& CheckpointImage::line(const std::string& word) {
  for (std::string& one : lines) {
    if (one.starts_with(word + " ")) return one;
  }
  throw std::out_of_range(word);
}

std::optional<CheckpointImage> take_apart(const std::string& file) {
  if (!file.starts_with(magic) || file.size() < first_line_bytes) return std::nullopt;
  std::uint64_t length = 0;
  if (!(std::istringstream(file.substr(magic.size(), 16)) >> std::hex >> length))
    return std::nullopt;
  length = std::min<std::uint64_t>(length, file.size() - first_line_bytes);
  CheckpointImage image;
  std::istringstream lines(file.substr(first_line_bytes, length));
  for (std::string line; std::getline(lines, line);) image.lines.push_back(line);
  image.body = file.substr(first_line_bytes + length);
  return image;
}

std::string sealed(CheckpointImage image) {
  const std::optional<std::uint64_t> sum = body_checksum(image);
  std::string text;
  for (const std::string& line : image.lines) {
    const bool replace = sum && line.starts_with("checksum ");
    text += (replace ? fmt::format("checksum {:016x}", *sum) : line) + "\n";
  }
  return fmt::format("{}{:016x} {:016x}\n", magic, text.size(), text_checksum(text)) + text +
         image.body;
}

}  // namespace weft::test
