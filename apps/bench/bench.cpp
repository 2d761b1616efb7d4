#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>

#include "bench/json.hpp"
#include "bench/measure.hpp"
#include "bench/sizes.hpp"
#include "output_file.hpp"
#include "subcommand.hpp"

#include <algorithm>
#include <new>

namespace weft::bench {
namespace {

constexpr int wrong_code = 1;
constexpr int usage_code = 2;

class Bench final : public app::Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override { return declare_options(weft, texts_); }
  void check() override { options_ = parse_options(texts_); }
  int run(const Comm& world) const override;

 private:
  /// Why these ranks cannot run the options; empty if they can.
  std::string obstacle(const Comm& world) const;
  Row measure_row(const Comm& world, const Raw* raw, const Where& at, const Plan& plan,
                  std::optional<ReduceOp> op) const;
  std::vector<Row> measure_rows(const Comm& world, const Raw* raw) const;

  OptionTexts texts_;
  Options options_;
};

Row Bench::measure_row(const Comm& world, const Raw* raw, const Where& at, const Plan& plan,
                       std::optional<ReduceOp> op) const {
  const Data data(at.dtype, op, at.ranks);
  Row row{plan.bytes, plan.count, at.dtype, op, {}, {}, {}};
  if (options_.what->has_root) row.root = at.root;
  if (options_.wants(Form::out_of_place)) {
    row.out_of_place = measure(world, options_, raw, at, plan, data, Form::out_of_place);
  }
  if (options_.wants(Form::in_place)) {
    row.in_place = measure(world, options_, raw, at, plan, data, Form::in_place);
  }
  return row;
}

std::vector<Row> Bench::measure_rows(const Comm& world, const Raw* raw) const {
  std::vector<Row> rows;
  const int first_root = options_.root.value_or(0);
  const int last_root = options_.root || !options_.what->has_root ? first_root : world.size() - 1;
  for (const auto& [dtype, op] : options_.types) {
    for (int root = first_root; root <= last_root; ++root) {
      index_t last_count = 0;
      for (const index_t bytes : options_.sizes) {
        const Where at{world.rank(), world.size(), root, bytes, dtype, op.value_or(ReduceOp::sum)};
        const Plan plan = options_.what->plan(at);
        if (plan.count == last_count) continue;  // rounds to the previous size
        last_count = plan.count;
        try {
          rows.push_back(measure_row(world, raw, at, plan, op));
        } catch (const std::bad_alloc&) {
          throw Error(
              fmt::format("bench: not enough memory for messages of {}; use a smaller --max",
                          bytes_text(bytes)));
        }
        print(world, "{}", row_text(rows.back(), raw != nullptr));
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

int Bench::run(const Comm& world) const {
  const std::string text = obstacle(world);
  if (!text.empty()) {
    if (world.rank() == 0) fmt::print(stderr, "weft: bench: {}\n", text);
    return usage_code;
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
  const std::vector<Row> rows = measure_rows(world, raw);
  const Summary summary = summarize(rows);
  print(world, "{}", footer_text(summary, options_, comparison));
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
