#pragma once

// The input values of the problems; peer_inputs.py computes the same ones. Integer arithmetic makes
// them independent of the language.

#include <cstdint>

namespace compare {

/// A pseudo-random value from -1/2 to 1/2.
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
