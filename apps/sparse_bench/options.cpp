#include "sparse_bench/options.hpp"

#include <weft/core/error.hpp>

#include "arguments.hpp"
#include "bench/sizes.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weft::sparse_bench {
namespace {

constexpr int most_calls = 1'000'000'000;
constexpr index_t most_elements = index_t{1} << 40;

/// The entries of lists that are separated by commas or spaces.
std::vector<std::string> entries_of(const std::string& option,
                                    const std::vector<std::string>& lists) {
  std::vector<std::string> entries;
  for (const std::string& list : lists) {
    for (std::string& entry : app::split_list("sparse-bench: --" + option, list)) {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

/// The position of a name in a list.
std::size_t find_name(const std::string& option, const std::vector<std::string>& names,
                      const std::string& name, const char* or_all = "") {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "sparse-bench: --{}: unknown name '{}'; use {}{}", option, name,
          fmt::join(names, ", "), or_all);
  return static_cast<std::size_t>(found - names.begin());
}

/// The positions of the names in lists, in the order of the lists; all of them for "all".
std::vector<std::size_t> find_names(const std::string& option,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& lists) {
  std::vector<std::size_t> found;
  for (const std::string& entry : entries_of(option, lists)) {
    if (entry != "all") {
      found.push_back(find_name(option, names, entry, " or all"));
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i) found.push_back(i);
  }
  return found;
}

template <class T>
T parse_number(const std::string& option, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(
      error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
      "sparse-bench: --{} {}: use numbers from {} to {}", option, text, least, most);
  return value;
}

std::vector<index_t> parse_sizes(const OptionTexts& texts) {
  std::vector<index_t> sizes;
  for (const std::string& entry : entries_of("n", texts.sizes)) {
    sizes.push_back(bench::parse_bytes(entry));
    require(sizes.back() <= most_elements, "sparse-bench: --n {}: at most {} elements are allowed",
            entry, bench::bytes_text(most_elements));
  }
  // An odd number exercises the ends of regions and chunks.
  if (sizes.empty()) sizes.push_back(texts.checks ? 10007 : index_t{1} << 20);
  return sizes;
}

std::vector<double> parse_densities(const OptionTexts& texts) {
  std::vector<double> densities;
  for (const std::string& entry : entries_of("density", texts.densities)) {
    const double density = parse_number("density", entry, 0.0, 1.0);
    require(density > 0, "sparse-bench: --density {}: must be above 0", entry);
    densities.push_back(density);
  }
  return densities;
}

std::vector<DType> parse_dtypes(const OptionTexts& texts) {
  constexpr DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
  std::vector<std::string> names;
  for (const DType type : types) names.emplace_back(to_string(type));
  std::vector<std::string> lists = texts.dtypes;
  if (lists.empty()) lists = {texts.checks ? "all" : "f32"};
  std::vector<DType> dtypes;
  for (const std::size_t i : find_names("dtype", names, lists)) dtypes.push_back(types[i]);
  return dtypes;
}

std::vector<SparseExchange> parse_exchanges(const OptionTexts& texts) {
  constexpr SparseExchange exchanges[] = {SparseExchange::exact, SparseExchange::slots};
  std::vector<std::string> lists = texts.exchanges;
  if (lists.empty()) lists = {texts.checks ? "all" : "exact"};
  std::vector<SparseExchange> found;
  for (const std::size_t i : find_names("exchange", {"exact", "slots"}, lists)) {
    found.push_back(exchanges[i]);
  }
  return found;
}

SparsePartition parse_partition(const std::string& name) {
  constexpr SparsePartition partitions[] = {SparsePartition::equal, SparsePartition::quantile,
                                            SparsePartition::block_cyclic};
  return partitions[find_name("partition", {"equal", "quantile", "block_cyclic"}, name)];
}

void parse_tables(const OptionTexts& texts, Options& options) {
  const std::vector<std::size_t> tables =
      find_names("tables", {"words", "times", "selection"}, texts.tables);
  const auto has = [&](std::size_t table) {
    return std::find(tables.begin(), tables.end(), table) != tables.end();
  };
  options.measures_words = has(0);
  options.measures_times = has(1);
  options.measures_selection = has(2);
}

/// Options that --check or --trace would ignore are refused.
void check_modes(const OptionTexts& texts) {
  if (!texts.checks && !texts.traces) return;
  const char* mode = texts.checks ? "--check" : "--trace";
  require(!texts.checks || !texts.traces, "sparse-bench: use --check or --trace, not both");
  require(texts.tables == std::vector<std::string>{"all"}, "sparse-bench: {} has no --tables",
          mode);
  require(texts.compare.empty() && !texts.bar, "sparse-bench: {} has no --compare and no --bar",
          mode);
  require(texts.groups.empty(), "sparse-bench: {} has no --groups", mode);
  require(!texts.checks || !texts.calls, "sparse-bench: --check has no --calls");
}

}  // namespace

CLI::App* declare_options(CLI::App& weft, OptionTexts& texts) {
  CLI::App* app = weft.add_subcommand(
      "sparse-bench", "Measures and verifies the sparse allreduce: words, times and selection");
  app->add_flag("--check", texts.checks,
                "verify calls of every algorithm, exchange and type; measure nothing");
  app->add_flag("--trace", texts.traces, "print what each call did; measure nothing");
  app->add_option("--tables", texts.tables, "words, times, selection, or all (default all)")
      ->type_name("LIST");
  app->add_option("--algorithm", texts.algorithms, "algorithms such as topkA,oktopk (default all)")
      ->type_name("LIST");
  app->add_option("--n", texts.sizes,
                  "elements of the tensor, or with K, M or G (default 1M, with --check 10007)")
      ->type_name("LIST");
  app->add_option("--density", texts.densities, "shares of elements to select (default 0.01)")
      ->type_name("LIST");
  app->add_option("--dtype", texts.dtypes,
                  "f32, f64, f16, bf16, or all (default f32, with --check all)")
      ->type_name("LIST");
  app->add_option("--exchange", texts.exchanges,
                  "exact, slots, or all (default exact, with --check all)")
      ->type_name("LIST");
  app->add_option("--selector", texts.selector,
                  "of all algorithms, and of the table of selections (default: of each; all)")
      ->type_name("NAME");
  app->add_option("--partition", texts.partition,
                  "regions of oktopk: equal, quantile or block_cyclic (default quantile)")
      ->type_name("NAME");
  app->add_option("--balance", texts.balance,
                  "on: oktopk evens out pairs before the gather (default off)")
      ->type_name("HOW");
  app->add_option("--groups", texts.groups,
                  "count words among the first 2,4,... ranks (default: all ranks)")
      ->type_name("LIST");
  app->add_option("--calls", texts.calls,
                  "measured calls per row (default: 3 for words and --trace, 9 for times)")
      ->type_name("N")
      ->check(CLI::Range(1, most_calls).description(""));
  app->add_option("--warmup", texts.warmup,
                  "calls before the timed ones, while thresholds and residuals settle (default 1)")
      ->type_name("N")
      ->check(CLI::Range(0, most_calls).description(""));
  app->add_option("--compare", texts.compare,
                  "raw: also time the bare allreduce of the underlying library")
      ->type_name("WITH");
  app->add_option("--bar", texts.bar,
                  "fail if a time divided by that of the dense, or bare, allreduce is above this")
      ->type_name("RATIO");
  app->add_option("--json", texts.json, "also write the results to this file")->type_name("FILE");
  return app;
}

Options parse_options(const OptionTexts& texts) {
  check_modes(texts);
  Options options;
  const std::vector<std::string> algorithms = sparse_algorithms();
  for (const std::size_t i : find_names("algorithm", algorithms, texts.algorithms)) {
    options.algorithms.push_back(algorithms[i]);
  }
  options.sizes = parse_sizes(texts);
  options.densities = parse_densities(texts);
  options.dtypes = parse_dtypes(texts);
  options.exchanges = parse_exchanges(texts);
  if (!texts.selector.empty()) find_name("selector", sparse_selectors(), texts.selector);
  options.selector = texts.selector;
  options.partition = parse_partition(texts.partition);
  options.balances = find_name("balance", {"off", "on"}, texts.balance) == 1;
  for (const std::string& entry : entries_of("groups", texts.groups)) {
    options.groups.push_back(parse_number("groups", entry, 1, 1 << 20));
  }
  options.calls = texts.calls;
  options.warmup = texts.warmup;
  parse_tables(texts, options);
  options.checks = texts.checks;
  options.traces = texts.traces;
  require(texts.compare.empty() || texts.compare == "raw", "sparse-bench: --compare {}: use raw",
          texts.compare);
  options.compares = !texts.compare.empty();
  require(options.measures_times || (!options.compares && !texts.bar),
          "sparse-bench: --compare and --bar belong to the table of times");
  options.bar = texts.bar.value_or(0);
  require(!texts.bar || (std::isfinite(*texts.bar) && *texts.bar > 0),
          "sparse-bench: --bar must be a positive number, got {}", options.bar);
  app::require_file_name("sparse-bench: --json", texts.json);
  options.json = texts.json;
  return options;
}

}  // namespace weft::sparse_bench
