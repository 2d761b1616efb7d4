#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include "output_file.hpp"
#include "sparse_bench/json.hpp"
#include "sparse_bench/table.hpp"
#include "subcommand.hpp"

#include <algorithm>

namespace weft::sparse_bench {
namespace {

constexpr int failure_code = 1;
constexpr int usage_code = 2;

// Without --calls
constexpr int counted_calls = 3;
constexpr int timed_calls = 9;

class SparseBench final : public app::Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override { return declare_options(weft, texts_); }
  void check() override { options_ = parse_options(texts_); }
  int run(const Comm& world) const override;

 private:
  std::vector<WordsRow> words(const Comm& world) const;
  std::vector<TimesRow> times(const Comm& world, const bench::Raw* raw) const;
  std::vector<SelectionRow> selection(const Comm& world) const;
  std::vector<CheckRow> checks(const Comm& world) const;
  std::vector<TraceRow> traces(const Comm& world) const;
  Results measure(const Comm& world, const bench::Raw* raw) const;

  OptionTexts texts_;
  Options options_;
};

std::vector<WordsRow> SparseBench::words(const Comm& world) const {
  print(world, "{}", words_header());
  std::vector<WordsRow> rows;
  const std::vector<int> groups =
      options_.groups.empty() ? std::vector<int>{world.size()} : options_.groups;
  for (const int ranks : groups) {
    const Comm group = world.split(world.rank() < ranks ? 0 : -1, world.rank());
    for (const Case& at : cases_of(options_)) {
      if (!group.valid()) continue;
      rows.push_back(
          measure_words(group.on(world.device()), options_, at, options_.calls_or(counted_calls)));
      print(world, "{}", row_text(rows.back()));
    }
  }
  return rows;
}

std::vector<TimesRow> SparseBench::times(const Comm& world, const bench::Raw* raw) const {
  const std::string_view name = raw == nullptr ? "" : raw->name();
  print(world, "{}", times_header(name, options_.bar));
  std::vector<TimesRow> rows;
  for (const Case& at : cases_of(options_)) {
    rows.push_back(measure_times(world, options_, at, raw, options_.calls_or(timed_calls)));
    print(world, "{}", row_text(rows.back(), raw != nullptr, options_.bar));
  }
  return rows;
}

std::vector<SelectionRow> SparseBench::selection(const Comm& world) const {
  print(world, "{}", selection_header());
  std::vector<SelectionRow> rows =
      measure_selection(world, options_, options_.calls_or(timed_calls));
  for (const SelectionRow& row : rows) print(world, "{}", row_text(row));
  return rows;
}

std::vector<CheckRow> SparseBench::checks(const Comm& world) const {
  print(world, "{}", check_header(options_.dtypes));
  std::vector<CheckRow> rows;
  for (const Case& at : cases_of(options_)) {
    rows.push_back(sparse_bench::check(world, options_, at));
    const std::size_t types = options_.dtypes.size();
    if (rows.size() % types == 0) print(world, "{}", row_text(std::span(rows).last(types)));
  }
  const auto failed = std::count_if(rows.begin(), rows.end(),
                                    [](const CheckRow& row) { return !row.failure.empty(); });
  print(world, "# {} of {} passed{}\n", rows.size() - static_cast<std::size_t>(failed), rows.size(),
        failed == 0 ? "" : ": FAILED");
  return rows;
}

std::vector<TraceRow> SparseBench::traces(const Comm& world) const {
  print(world, "{}", trace_header());
  std::vector<TraceRow> rows;
  for (const Case& at : cases_of(options_)) {
    for (TraceRow& row : trace(world, options_, at, options_.calls_or(counted_calls))) {
      print(world, "{}", row_text(row));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Results SparseBench::measure(const Comm& world, const bench::Raw* raw) const {
  Results results;
  if (options_.checks) {
    results.checks = checks(world);
  } else if (options_.traces) {
    results.trace = traces(world);
  } else {
    if (options_.measures_words) results.words = words(world);
    if (options_.measures_times) results.times = times(world, raw);
    if (options_.measures_selection) results.selection = selection(world);
  }
  return results;
}

int SparseBench::run(const Comm& world) const {
  for (const int ranks : options_.groups) {
    if (ranks <= world.size()) continue;
    if (world.rank() == 0) {
      fmt::print(stderr, "weft: sparse-bench: --groups {}, but there are {} ranks\n", ranks,
                 world.size());
    }
    return usage_code;
  }
  if (!options_.json.empty()) {
    app::require_writable(world, options_.json, app::Target::anything);
  }
  const bench::World facts = bench::describe_world(world);
  bench::RawChoice choice;
  if (options_.compares) choice = bench::choose_raw(world);
  const std::string raw = choice.raw == nullptr ? "" : std::string(choice.raw->name());
  print(world, "# weft {} sparse-bench\n{}", version(), bench::world_text(facts));
  if (options_.compares && raw.empty()) {
    print(world, "# compared with: no bare call, since {}\n", choice.reason);
  }
  const Results results = measure(world, choice.raw.get());
  // Groups leave out the last ranks, but not rank 0.
  const int failures = results.failures(options_.bar);
  if (!options_.json.empty()) {
    app::write_file(world, options_.json, json_text(facts, options_, raw, results));
  }
  if (failures > 0) print(world, "# FAILED rows: {}\n", failures);
  return failures == 0 ? 0 : failure_code;
}

}  // namespace
}  // namespace weft::sparse_bench

std::unique_ptr<weft::app::Subcommand> weft::app::make_sparse_bench() {
  return std::make_unique<sparse_bench::SparseBench>();
}
