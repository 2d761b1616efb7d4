#pragma once

#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::sparse_bench {

/// The parsed options of `weft sparse-bench`.
struct Options {
  std::vector<std::string> algorithms;
  std::vector<index_t> sizes;
  std::vector<double> densities;
  std::vector<DType> dtypes;
  std::vector<SparseExchange> exchanges;
  /// Of all algorithms; empty for the default of each.
  std::string selector;
  SparsePartition partition = SparsePartition::quantile;
  bool balances = false;
  /// Numbers of ranks of the table of words; empty for all ranks of the run.
  std::vector<int> groups;
  /// Measured calls; by default depending on the table.
  std::optional<int> calls;
  /// Calls before the timed ones.
  int warmup = 1;
  bool measures_words = true;
  bool measures_times = true;
  bool measures_selection = true;
  /// Instead of measuring.
  bool checks = false;
  bool traces = false;
  bool compares = false;
  /// Upper limit of the ratios to the baseline; 0 for none.
  double bar = 0;
  std::string json;

  int calls_or(int fewer) const { return calls.value_or(fewer); }
};

/// The options on the command line.
struct OptionTexts {
  std::vector<std::string> algorithms = {"all"};
  std::vector<std::string> sizes;
  std::vector<std::string> densities = {"0.01"};
  std::vector<std::string> dtypes;
  std::vector<std::string> exchanges;
  std::string selector;
  std::string partition = "quantile";
  std::string balance = "off";
  std::vector<std::string> groups;
  std::optional<int> calls;
  int warmup = 1;
  std::vector<std::string> tables = {"all"};
  bool checks = false;
  bool traces = false;
  std::string compare;
  std::optional<double> bar;
  std::string json;
};

CLI::App* declare_options(CLI::App& weft, OptionTexts& texts);
/// Throws ArgumentError if an option is invalid.
Options parse_options(const OptionTexts& texts);

}  // namespace weft::sparse_bench
