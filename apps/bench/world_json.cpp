#include "bench/world_json.hpp"

#include <nlohmann/json.hpp>

namespace weft::bench {
namespace {

using Json = nlohmann::ordered_json;

Json ranks_json(const World& world) {
  Json ranks = Json::array();
  for (const RankFacts& rank : world.ranks) {
    ranks.push_back({{"host", rank.host},
                     {"pid", rank.pid},
                     {"device", rank.device},
                     {"device_name", rank.device_name},
                     {"device_id", rank.device_id}});
  }
  return ranks;
}

}  // namespace

Json world_json(const World& world) {
  return {{"weft", world.version},
          {"date", world.date},
          {"transport", world.transport},
          {"route", {{"name", world.route.name}, {"reason", world.route.reason}}},
          {"ranks", ranks_json(world)},
          {"devices", world.sharing},
          {"warnings", world.warnings}};
}

}  // namespace weft::bench
