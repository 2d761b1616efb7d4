#pragma once

#include "bench/world.hpp"

#include <nlohmann/json_fwd.hpp>

namespace weft::bench {

/// The facts of a measurement, to which results are added.
nlohmann::ordered_json world_json(const World& world);

}  // namespace weft::bench
