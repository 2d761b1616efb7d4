#pragma once

#include "bench/world.hpp"
#include "sparse_bench/results.hpp"

namespace weft::sparse_bench {

/// `raw` is the name of the library whose bare call was timed; empty for none.
std::string json_text(const bench::World& world, const Options& options, std::string_view raw,
                      const Results& results);

}  // namespace weft::sparse_bench
