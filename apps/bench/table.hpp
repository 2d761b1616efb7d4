#pragma once

#include "bench/options.hpp"
#include "bench/results.hpp"
#include "bench/world.hpp"

namespace weft::bench {

/// The name of the library that results are compared with, or the reason for its absence.
struct Comparison {
  std::string name;
  std::string reason;
};

std::string header_text(const World& world, const Options& options, const Comparison& comparison);
std::string row_text(const Row& row, bool compares);
std::string footer_text(const Summary& summary, const Options& options,
                        const Comparison& comparison);

}  // namespace weft::bench
