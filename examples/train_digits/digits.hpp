#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/buffer.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace digits {

using weft::index_t;

inline constexpr index_t pixels = 64;
inline constexpr index_t classes = 10;

/// Reproducible on all machines, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// From [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  void shuffle(std::vector<std::int32_t>& values);

 private:
  std::mt19937_64 engine_;
};

/// The digits on a device; every rank has all of them.
struct Digits {
  index_t count = 0;
  /// [count, pixels], from 0 to 1.
  weft::Buffer<float> images;
  weft::Buffer<std::int32_t> labels;
  /// The same as labels, for the host.
  std::vector<std::int32_t> host_labels;
};

/// Reads examples/data/digits.npy. Collective; throws on all ranks if the file is missing or has
/// other contents.
Digits read_digits(const weft::Comm& world, const std::string& path);

/// The rows that one rank trains with and those that it tests.
struct Shard {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> test;
};

/// A fifth of the digits, chosen by the seed, is for testing. The ranks share the others evenly; a
/// remainder is left out.
Shard shard_of(index_t count, int rank, int ranks, std::uint64_t seed);

}  // namespace digits
