#include "sparse_bench/json.hpp"

#include "bench/world_json.hpp"

#include <nlohmann/json.hpp>

namespace weft::sparse_bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double micro = 1e6;

/// Null if absent.
Json maybe(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json case_json(const Case& at) {
  Json json = {{"algorithm", at.algorithm}};
  json["exchange"] = has_slots(at.algorithm) ? Json(to_string(at.exchange)) : Json();
  json["dtype"] = weft::to_string(at.dtype);
  json["n"] = at.n;
  json["density"] = at.density;
  return json;
}

Json row_json(const WordsRow& row) {
  Json json = case_json(row.at);
  json["ran"] = row.ran;
  json["ranks"] = row.ranks;
  json["words"] = row.words;
  json["formula"] = row.formula;
  json["formula_is_bound"] = row.is_bound;
  json["padding_words"] = row.padding;
  json["header_words"] = row.header;
  json["comm_bytes"] = row.bytes;
  json["comm_bytes_agree"] = row.bytes_agree;
  json["mismatches"] = row.mismatches;
  json["selected_by_k"] = row.selected;
  json["imbalance"] = maybe(row.imbalance);
  json["conservation_error"] = maybe(row.conservation_error);
  json["scratch_bytes_per_element"] = row.scratch_per_element;
  return json;
}

Json row_json(const TimesRow& row, double bar) {
  Json json = case_json(row.at);
  json["ran"] = row.ran;
  json["time_us"] = row.seconds * micro;
  json["mean_time_us"] = row.mean_seconds * micro;
  json["dense_us"] = row.dense.seconds * micro;
  json["dense_ratio"] = row.dense.ratio;
  if (row.raw) {
    json["raw_us"] = row.raw->seconds * micro;
    json["raw_ratio"] = row.raw->ratio;
  }
  if (bar > 0) json["bar"] = bar;
  for (const Phase& phase : phases) {
    json["phases_us"][phase.name] = row.phases.*phase.seconds * micro;
  }
  json["phases_us"]["other"] = row.other_seconds * micro;
  return json;
}

Json row_json(const SelectionRow& row) {
  return {{"selector", row.selector},
          {"dtype", weft::to_string(row.dtype)},
          {"n", row.n},
          {"density", row.density},
          {"time_us", row.seconds * micro},
          {"copy_us", row.copy_seconds * micro},
          {"ratio", row.ratio},
          {"gbs", row.gbs},
          {"copy_gbs", row.copy_gbs},
          {"selected_by_k", row.selected}};
}

Json row_json(const CheckRow& row) {
  Json json = case_json(row.at);
  json["passed"] = row.failure.empty();
  if (!row.failure.empty()) json["failure"] = row.failure;
  return json;
}

Json row_json(const TraceRow& row) {
  const SparseReport& r = row.report;
  Json json = case_json(row.at);
  json["call"] = r.call;
  json["path"] = r.algorithm;
  json["exchange_of_call"] = exchange_of(r);
  json["route"] = row.route;
  json["k"] = r.k;
  json["selected"] = r.selected;
  json["split_words"] = r.split_words;
  json["gather_words"] = r.gather_words;
  json["balance_words"] = r.balance_words;
  json["dense_words"] = r.dense_words;
  json["padding_words"] = r.padding_words;
  json["header_words"] = r.header_words;
  json["result"] = r.result;
  json["overflow"] = r.overflow;
  json["capacity"] = r.capacity;
  json["host_waits"] = r.host_waits;
  json["local_threshold"] = r.local_threshold;
  json["global_threshold"] = r.global_threshold;
  json["exact_local"] = r.exact_local;
  json["exact_global"] = r.exact_global;
  json["new_regions"] = r.new_regions;
  for (const Phase& phase : phases) json["phases_us"][phase.name] = r.times.*phase.seconds * micro;
  return json;
}

template <class Row, class... Args>
Json rows_json(const std::vector<Row>& rows, Args... args) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(row_json(row, args...));
  return json;
}

}  // namespace

std::string json_text(const bench::World& world, const Options& options, std::string_view raw,
                      const Results& results) {
  Json json = bench::world_json(world);
  json["selector"] = options.selector.empty() ? Json() : Json(options.selector);
  json["warmup"] = options.warmup;
  json["compared_with"] = raw.empty() ? Json() : Json(raw);
  if (options.checks) {
    json["checks"] = rows_json(results.checks);
  } else if (options.traces) {
    json["trace"] = rows_json(results.trace);
  } else {
    json["words"] = rows_json(results.words);
    json["times"] = rows_json(results.times, options.bar);
    json["selection"] = rows_json(results.selection);
  }
  json["failures"] = results.failures(options.bar);
  return json.dump(1) + "\n";
}

}  // namespace weft::sparse_bench
