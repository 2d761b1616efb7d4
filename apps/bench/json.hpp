#pragma once

#include "bench/table.hpp"

namespace weft::bench {

std::string json_text(const World& world, const Options& options, const Comparison& comparison,
                      const std::vector<Row>& rows, const Summary& summary);

}  // namespace weft::bench
