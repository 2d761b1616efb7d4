#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>

#include "bench/algorithms.hpp"
#include "bench/json.hpp"
#include "bench/measure.hpp"
#include "bench/sizes.hpp"
#include "comm/allreduce_table_file.hpp"
#include "output_file.hpp"
#include "subcommand.hpp"

#include <algorithm>
#include <new>

namespace weft::bench {
namespace {

constexpr int wrong_code = 1;
constexpr int usage_code = 2;

// Algorithms take turns, so that disturbances of the machine affect all of them.
constexpr int tuning_rounds = 3;

using detail::AllreduceQuery;

Where where(const Comm& world, const Options::Type& type, int root, index_t bytes) {
  return {world.rank(), world.size(), root, bytes, type.dtype, type.op.value_or(ReduceOp::sum)};
}

int usage_error(const Comm& world, const std::string& text) {
  if (world.rank() == 0) fmt::print(stderr, "weft: bench: {}\n", text);
  return usage_code;
}

class Bench final : public app::Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override { return declare_options(weft, texts_); }
  void check() override { options_ = parse_options(texts_); }
  int run(const Comm& world) const override;

 private:
  /// Why these ranks cannot run the options; empty if they can.
  std::string obstacle(const Comm& world) const;
  std::string obstacle(const Algorithms& algorithms, const Comm& world) const;
  AllreduceQuery query(const Algorithms& algorithms, const Where& at, const Plan& plan) const;
  Row measure_row(const Comm& world, const Raw* raw, const Where& at, const Plan& plan,
                  std::optional<ReduceOp> op) const;
  /// One row for each algorithm that applies.
  std::vector<Row> measure_algorithms(const Comm& world, const Raw* raw,
                                      const Algorithms& algorithms, const Where& at,
                                      const Plan& plan, std::optional<ReduceOp> op) const;
  /// `algorithms` are null if the table chooses them.
  std::vector<Row> measure_rows(const Comm& world, const Raw* raw,
                                const Algorithms* algorithms) const;

  OptionTexts texts_;
  Options options_;
};

Row Bench::measure_row(const Comm& world, const Raw* raw, const Where& at, const Plan& plan,
                       std::optional<ReduceOp> op) const {
  const Data data(at.dtype, op, at.ranks);
  Row row{plan.bytes, plan.count, at.dtype, op, {}, {}, {}, {}};
  if (options_.what->has_root) row.root = at.root;
  if (options_.wants(Form::out_of_place)) {
    row.out_of_place = measure(world, options_, raw, at, plan, data, Form::out_of_place);
  }
  if (options_.wants(Form::in_place)) {
    row.in_place = measure(world, options_, raw, at, plan, data, Form::in_place);
  }
  return row;
}

AllreduceQuery Bench::query(const Algorithms& algorithms, const Where& at, const Plan& plan) const {
  return {algorithms.team().ranks, plan.bytes, at.dtype, at.op, options_.graph > 0};
}

std::vector<Row> Bench::measure_algorithms(const Comm& world, const Raw* raw,
                                           const Algorithms& algorithms, const Where& at,
                                           const Plan& plan, std::optional<ReduceOp> op) const {
  std::vector<Row> rows;
  for (int round = 0; round < (options_.tunes ? tuning_rounds : 1); ++round) {
    std::size_t next = 0;
    for (const detail::AllreduceRow& algorithm : algorithms.rows()) {
      if (!algorithm.applies(query(algorithms, at, plan))) continue;
      algorithms.use(algorithm);
      const Row row = measure_row(world, raw, at, plan, op);
      if (round == 0) rows.push_back(row);
      Row& kept = rows[next++];
      kept.algorithm = algorithm.name;
      if (round == 0) continue;
      keep_faster(kept.out_of_place, row.out_of_place);
      keep_faster(kept.in_place, row.in_place);
    }
  }
  algorithms.use_table();
  return rows;
}

std::vector<Row> Bench::measure_rows(const Comm& world, const Raw* raw,
                                     const Algorithms* algorithms) const {
  std::vector<Row> rows;
  const int first_root = options_.root.value_or(0);
  const int last_root = options_.root || !options_.what->has_root ? first_root : world.size() - 1;
  for (const Options::Type& type : options_.types) {
    for (int root = first_root; root <= last_root; ++root) {
      index_t last_count = 0;
      for (const index_t bytes : options_.sizes) {
        const Where at = where(world, type, root, bytes);
        const Plan plan = options_.what->plan(at);
        if (plan.count == last_count) continue;  // rounds to the previous size
        last_count = plan.count;
        const std::size_t before = rows.size();
        try {
          if (algorithms == nullptr) {
            rows.push_back(measure_row(world, raw, at, plan, type.op));
          } else {
            for (const Row& row : measure_algorithms(world, raw, *algorithms, at, plan, type.op)) {
              rows.push_back(row);
            }
          }
        } catch (const std::bad_alloc&) {
          throw Error(
              fmt::format("bench: not enough memory for messages of {}; use a smaller --max",
                          bytes_text(bytes)));
        }
        for (std::size_t row = before; row < rows.size(); ++row) {
          print(world, "{}", row_text(rows[row], raw != nullptr));
        }
      }
    }
  }
  return rows;
}

std::string Bench::obstacle(const Comm& world) const {
  if (options_.root.value_or(0) >= world.size()) {
    return fmt::format("--root {}, but there are {} ranks", *options_.root, world.size());
  }
  const Route route = world.route(world.device());
  if (options_.graph > 0 && world.device().kind == DeviceKind::cuda && !route.capturable) {
    return fmt::format("--graph: calls on the route '{}' cannot be recorded", route.name);
  }
  return {};
}

std::string Bench::obstacle(const Algorithms& algorithms, const Comm& world) const {
  if (!algorithms.obstacle().empty()) return algorithms.obstacle();
  for (const Options::Type& type : options_.types) {
    for (const index_t bytes : options_.sizes) {
      const Where at = where(world, type, 0, bytes);
      const Plan plan = options_.what->plan(at);
      for (const detail::AllreduceRow& row : algorithms.rows()) {
        if (row.applies(query(algorithms, at, plan))) return {};
      }
    }
  }
  return fmt::format("algorithm {} applies to none of these sizes and types", options_.algorithm);
}

int Bench::run(const Comm& world) const {
  std::string text = obstacle(world);
  if (!text.empty()) return usage_error(world, text);
  std::optional<Algorithms> algorithms;
  if (!options_.algorithm.empty()) {
    algorithms.emplace(world, options_.algorithm);
    text = obstacle(*algorithms, world);
    if (!text.empty()) return usage_error(world, text);
  }
  if (!options_.json.empty()) {
    app::require_writable(world, options_.json, app::Target::anything);
  }
  const World facts = describe_world(world);
  RawChoice choice;
  if (options_.compares) choice = choose_raw(world);
  const Raw* raw = choice.raw.get();
  const Comparison comparison{raw == nullptr ? "" : std::string(raw->name()), choice.reason};

  print(world, "{}", header_text(facts, options_, comparison));
  const std::vector<Row> rows = measure_rows(world, raw, algorithms ? &*algorithms : nullptr);
  const Summary summary = summarize(rows);
  print(world, "{}", footer_text(summary, options_, comparison));
  if (options_.tunes) {
    if (summary.wrong > 0) return wrong_code;
    const auto limits = tuned_limits(algorithms->team(), rows);
    app::write_file(world, options_.json, detail::allreduce_limits_text(limits));
    print(world, "{}# written to {}\n", limits_text(limits), options_.json);
    return 0;
  }
  if (!options_.json.empty()) {
    app::write_file(world, options_.json, json_text(facts, options_, comparison, rows, summary));
  }
  return summary.wrong == 0 ? 0 : wrong_code;
}

}  // namespace
}  // namespace weft::bench

std::unique_ptr<weft::app::Subcommand> weft::app::make_bench() {
  return std::make_unique<bench::Bench>();
}
