#include "bench/options.hpp"

#include <weft/core/error.hpp>

#include "arguments.hpp"
#include "bench/sizes.hpp"

#include <CLI/CLI.hpp>

#include <charconv>

namespace weft::bench {
namespace {

constexpr int dtypes = 14;
constexpr int ops = 8;
constexpr int most_calls = 1'000'000'000;
constexpr double most_skew_us = 1e6;
constexpr index_t most_misalign = 4096;

/// Finds the enumerator of this name among the first `count`.
template <class Enum>
Enum parse_name(const std::string& name, int count, const char* what) {
  std::string names;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    if (to_string(value) == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(value));
  }
  refuse("bench: unknown {} '{}'; use {} or all", what, name, names);
}

/// The enumerators of lists of names; all of them for "all".
template <class Enum>
std::vector<Enum> parse_list(const std::vector<std::string>& names, int count, const char* what) {
  std::vector<Enum> values;
  for (const std::string& list : names) {
    for (const std::string& name : app::split_list(fmt::format("bench: --{}", what), list)) {
      if (name != "all") {
        values.push_back(parse_name<Enum>(name, count, what));
        continue;
      }
      for (int i = 0; i < count; ++i) values.push_back(static_cast<Enum>(i));
    }
  }
  return values;
}

bool is_all(const std::vector<std::string>& names) {
  return names == std::vector<std::string>{"all"};
}

/// Every dtype with every op. "all" skips invalid pairs.
std::vector<Options::Type> parse_types(const OptionTexts& texts, const Case& what) {
  std::vector<Options::Type> types;
  for (const DType dtype : parse_list<DType>(texts.dtypes, dtypes, "dtype")) {
    if (!what.takes(dtype)) {
      require(is_all(texts.dtypes), "bench: {} is for f32, f64, c64 and c128, not for {}",
              what.name, to_string(dtype));
      continue;
    }
    if (!what.reduces) {
      types.push_back({dtype, std::nullopt});
      continue;
    }
    const std::vector<std::string> names =
        texts.ops.empty() ? std::vector<std::string>{"sum"} : texts.ops;
    for (const ReduceOp op : parse_list<ReduceOp>(names, ops, "op")) {
      require(has_op(dtype, op) || is_all(names) || is_all(texts.dtypes),
              "bench: {} has no op '{}'", to_string(dtype), to_string(op));
      if (has_op(dtype, op)) types.push_back({dtype, op});
    }
  }
  return types;
}

std::optional<int> parse_root(const std::string& text) {
  if (text.empty()) return 0;
  if (text == "all") return std::nullopt;
  int root = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), root);
  require(error == std::errc() && end == text.data() + text.size() && root >= 0,
          "bench: --root {}: use the number of a rank, or all", text);
  return root;
}

Forms parse_forms(const std::string& text, const Case& what) {
  require(text == "yes" || text == "no" || text == "both",
          "bench: --in-place {}: use yes, no or both", text);
  require(text != "yes" || what.in_place, "bench: {} has no form in place", what.name);
  require(text != "no" || what.out_of_place, "bench: {} has one buffer and is always in place",
          what.name);
  if (text == "both") return Forms::both;
  return text == "yes" ? Forms::in_place : Forms::out_of_place;
}

std::string footer() {
  constexpr std::size_t width = 90;
  std::string text;
  std::string line = "WHAT is one of";
  for (const Case& each : all_cases()) {
    if (line.size() + each.name.size() > width) {
      text += line + "\n";
      line = " ";
    }
    line += fmt::format(" {}", each.name);
  }
  return text + line +
         "\nor tune, which measures all algorithms of allreduce and writes a table for WEFT_TABLE";
}

/// The options of `tune` are those of allreduce with all algorithms.
void check_tuning(const OptionTexts& texts, const Options& options) {
  require(!texts.json.empty(), "bench: tune needs --json FILE, to which it writes the table");
  require(texts.algorithm.empty(), "bench: tune measures all algorithms, without --algorithm");
  require(texts.compare.empty(), "bench: tune has no --compare");
  require(options.types.size() == 1, "bench: tune takes one --dtype and one --op");
}

void check_misalign(const Options& options) {
  if (options.misalign == 0) return;
  require(options.what->kind != Kind::halo && options.what->kind != Kind::redistribute,
          "bench: --misalign: {} moves arrays, which are always aligned", options.what->name);
  for (const auto& [dtype, op] : options.types) {
    require(options.misalign % size_of(dtype) == 0,
            "bench: --misalign {} is not a multiple of the {} bytes of {}", options.misalign,
            size_of(dtype), to_string(dtype));
  }
}

}  // namespace

bool Options::wants(Form form) const {
  if (form == Form::in_place) return what->in_place && forms != Forms::out_of_place;
  return what->out_of_place && forms != Forms::in_place;
}

CLI::App* declare_options(CLI::App& weft, OptionTexts& texts) {
  CLI::App* app = weft.add_subcommand("bench", "Measures and verifies communication");
  app->add_option("WHAT", texts.what, "the call to measure")->required()->type_name("");
  app->footer(footer());
  app->add_option("--min", texts.min, "smallest message in bytes, or with K, M or G (default 8)")
      ->type_name("SIZE");
  app->add_option("--max", texts.max, "largest message (default 32M, for tune 16M)")
      ->type_name("SIZE");
  app->add_option("--factor", texts.factor, "ratio of each size to the one before (default 2)")
      ->type_name("N");
  app->add_option("--dtype", texts.dtypes, "element types such as f32,f64, or all (default f32)")
      ->type_name("LIST");
  app->add_option("--op", texts.ops, "reductions such as sum,max, or all (default sum)")
      ->type_name("LIST");
  app->add_option("--root", texts.root, "root rank, or all (default 0)")->type_name("RANK");
  app->add_option("--iters", texts.iters,
                  "timed calls, per round with --compare (default: 20 to 1000 in about 0.1 s)")
      ->type_name("N")
      ->check(CLI::Range(1, most_calls).description(""));
  app->add_option("--warmup", texts.warmup, "calls before the timed ones (default 5)")
      ->type_name("N")
      ->check(CLI::Range(0, most_calls).description(""));
  app->add_option("--check", texts.checks, "verified calls after the timed ones (default 1)")
      ->type_name("N")
      ->check(CLI::Range(0, most_calls).description(""));
  app->add_option("--in-place", texts.in_place, "in-place calls: yes, no or both (default both)")
      ->type_name("FORM");
  app->add_option("--graph", texts.graph,
                  "time launches of a graph of N calls (default 0: no graph)")
      ->type_name("N")
      ->check(CLI::Range(0, most_calls).description(""));
  app->add_option("--json", texts.json,
                  "also write the results, or the table of tune, to this file")
      ->type_name("FILE");
  app->add_option("--compare", texts.compare,
                  "raw: also time the bare call of the underlying library")
      ->type_name("WITH");
  app->add_option("--algorithm", texts.algorithm,
                  "of allreduce, instead of the one that the table chooses; all: one after another")
      ->type_name("NAME");
  app->add_option(
         "--skew", texts.skew,
         "before each call, rank r spins for US * r / (ranks - 1); US is subtracted from the times")
      ->type_name("US")
      ->check(CLI::Range(0.0, most_skew_us).description(""));
  app->add_option("--misalign", texts.misalign,
                  "begin buffers this many bytes after an aligned address (default 0)")
      ->type_name("BYTES")
      ->check(CLI::Range(index_t{0}, most_misalign).description(""));
  return app;
}

Options parse_options(const OptionTexts& texts) {
  Options options;
  options.tunes = texts.what == "tune";
  const Case& what = find_case(options.tunes ? "allreduce" : texts.what);
  options.what = &what;
  const std::string default_max = options.tunes ? "16M" : "32M";
  options.sizes = sweep(parse_bytes(texts.min),
                        parse_bytes(texts.max.empty() ? default_max : texts.max), texts.factor);
  require(texts.ops.empty() || what.reduces, "bench: {} has no --op, since it reduces nothing",
          what.name);
  require(texts.root.empty() || what.has_root, "bench: {} has no root", what.name);
  options.types = parse_types(texts, what);
  options.root = parse_root(texts.root);
  options.iters = texts.iters;
  options.warmup = texts.warmup;
  options.checks = texts.checks;
  options.forms = parse_forms(texts.in_place, what);
  options.graph = texts.graph;
  app::require_file_name("bench: --json", texts.json);
  options.json = texts.json;
  require(texts.compare.empty() || texts.compare == "raw", "bench: --compare {}: use raw",
          texts.compare);
  options.compares = !texts.compare.empty();
  require(texts.algorithm.empty() || what.kind == Kind::allreduce,
          "bench: {} has no --algorithm, only allreduce has", what.name);
  options.algorithm = texts.algorithm;
  if (options.tunes) {
    check_tuning(texts, options);
    options.algorithm = "all";
  }
  require(texts.skew == 0 || texts.graph == 0,
          "bench: --skew delays single calls, so it cannot be used with --graph");
  options.skew_us = texts.skew;
  options.misalign = texts.misalign;
  check_misalign(options);
  return options;
}

}  // namespace weft::bench
