#include "bench/sizes.hpp"

#include <weft/core/error.hpp>

#include <charconv>

namespace weft::bench {
namespace {

constexpr std::string_view suffixes = "KMG";

/// The power of 1024 of a suffix; negative if it is not one.
int power_of(std::string_view suffix) {
  if (suffix.empty()) return 0;
  if (suffix.size() > 1) return -1;
  const char upper = static_cast<char>(suffix[0] & ~0x20);
  const auto at = suffixes.find(upper);
  return at == std::string_view::npos ? -1 : static_cast<int>(at) + 1;
}

}  // namespace

index_t parse_bytes(std::string_view text) {
  index_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const int power = power_of(text.substr(static_cast<std::size_t>(end - text.data())));
  require(error == std::errc() && power >= 0,
          "'{}' is not a size: use a number, or one with K, M or G", text);
  for (int i = 0; i < power; ++i) {
    require(!__builtin_mul_overflow(bytes, 1024, &bytes), "size {} is too large", text);
  }
  require(bytes > 0, "sizes must be positive, got {}", text);
  return bytes;
}

std::string bytes_text(index_t bytes) {
  int power = 0;
  while (power < 3 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) +
         std::string(power == 0 ? "" : suffixes.substr(static_cast<std::size_t>(power - 1), 1));
}

std::vector<index_t> sweep(index_t min, index_t max, index_t factor) {
  require(min > 0, "--min {}: a message has at least one byte", min);
  require(max >= min, "--max {} is less than --min {}", bytes_text(max), bytes_text(min));
  require(factor >= 2, "--factor {}: sizes must grow, by a factor of 2 or more", factor);
  std::vector<index_t> sizes = {min};
  while (sizes.back() <= max / factor) sizes.push_back(sizes.back() * factor);
  return sizes;
}

}  // namespace weft::bench
