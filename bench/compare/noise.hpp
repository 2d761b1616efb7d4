#pragma once

// The numbers that problems are made of; pylops_side.py makes the same ones. Whole numbers decide,
// so that they do not depend on a language's sine.

#include <cstdint>

namespace compare {

/// Between -1/2 and 1/2, as good as random.
inline double noise(std::uint64_t at, std::uint64_t seed) {
  constexpr std::uint64_t mask = 0xffffffff;
  std::uint64_t h = (at * 2654435761U + seed * 40503U + 1) & mask;
  h ^= h >> 15;
  h = (h * 2246822519U) & mask;
  h ^= h >> 13;
  h = (h * 3266489917U) & mask;
  h ^= h >> 16;
  return static_cast<double>(h) / 4294967296.0 - 0.5;
}

}  // namespace compare
