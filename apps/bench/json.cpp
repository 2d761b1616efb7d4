#include "bench/json.hpp"

#include "bench/world_json.hpp"

#include <nlohmann/json.hpp>

namespace weft::bench {
namespace {

using Json = nlohmann::ordered_json;

/// Null if absent.
template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json cell_json(const std::optional<Cell>& cell) {
  if (!cell) return {};
  Json json = {{"time_us", cell->time_us},
               {"algbw_gbs", cell->algbw},
               {"busbw_gbs", cell->busbw},
               {"wrong", maybe(cell->wrong)}};
  if (cell->raw) {
    json["raw_time_us"] = cell->raw->time_us;
    json["ratio"] = cell->raw->ratio;
    json["difference_us"] = cell->raw->difference_us;
  }
  return json;
}

Json row_json(const Row& row) {
  Json json = {{"bytes", row.bytes},
               {"count", row.count},
               {"dtype", to_string(row.dtype)},
               {"op", row.op ? Json(to_string(*row.op)) : Json()},
               {"root", maybe(row.root)}};
  if (!row.algorithm.empty()) json["algorithm"] = row.algorithm;
  json["out_of_place"] = cell_json(row.out_of_place);
  json["in_place"] = cell_json(row.in_place);
  return json;
}

}  // namespace

std::string json_text(const World& world, const Options& options, const Comparison& comparison,
                      const std::vector<Row>& rows, const Summary& summary) {
  Json json = world_json(world);
  json["collective"] = options.what->name;
  json["times"] = "average over the calls, largest over the ranks";
  json["iters"] = maybe(options.iters);
  json["warmup"] = options.warmup;
  json["checks"] = options.checks;
  json["graph"] = options.graph;
  json["compared_with"] = comparison.name.empty() ? Json() : Json(comparison.name);
  if (options.skew_us > 0) json["skew_us"] = options.skew_us;
  if (options.misalign > 0) json["misalign"] = options.misalign;
  json["rows"] = Json::array();
  for (const Row& row : rows) json["rows"].push_back(row_json(row));
  json["wrong"] = options.checks == 0 ? Json() : Json(summary.wrong);
  json["average_busbw_gbs"] = summary.average_busbw;
  json["worst_ratio_large"] = maybe(summary.worst_ratio_large);
  json["worst_difference_small_us"] = maybe(summary.worst_difference_small_us);
  return json.dump(1) + "\n";
}

}  // namespace weft::bench
