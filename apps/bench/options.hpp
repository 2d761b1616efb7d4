#pragma once

#include "bench/cases.hpp"

#include <optional>

namespace CLI {
class App;
}

namespace weft::bench {

enum class Forms { out_of_place, in_place, both };

/// The parsed options of `weft bench`.
struct Options {
  const Case* what = nullptr;
  std::vector<index_t> sizes;
  /// The valid pairs.
  struct Type {
    DType dtype;
    std::optional<ReduceOp> op;
  };
  std::vector<Type> types;
  /// Empty for all ranks in turn.
  std::optional<int> root = 0;
  /// Timed calls; by default depending on their time.
  std::optional<int> iters;
  int warmup = 5;
  int checks = 1;
  Forms forms = Forms::both;
  /// Calls in a graph, or 0.
  int graph = 0;
  std::string json;
  bool compares = false;
  /// Of allreduce: a name, "all", or empty for the table's choice.
  std::string algorithm;
  /// Measure to write a table.
  bool tunes = false;
  /// The delay of the last rank before each call, in microseconds.
  double skew_us = 0;
  /// The distance of buffers from an aligned address.
  index_t misalign = 0;

  bool wants(Form form) const;
};

/// The options on the command line.
struct OptionTexts {
  std::string what;
  std::string min = "8";
  std::string max;  // the default depends on `what`
  int factor = 2;
  std::vector<std::string> dtypes = {"f32"};
  std::vector<std::string> ops;
  std::string root;
  std::optional<int> iters;
  int warmup = 5;
  int checks = 1;
  std::string in_place = "both";
  int graph = 0;
  std::string json;
  std::string compare;
  std::string algorithm;
  double skew = 0;
  index_t misalign = 0;
};

CLI::App* declare_options(CLI::App& weft, OptionTexts& texts);
/// Throws ArgumentError if an option is invalid.
Options parse_options(const OptionTexts& texts);

}  // namespace weft::bench
