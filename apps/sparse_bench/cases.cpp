#include "sparse_bench/cases.hpp"

namespace weft::sparse_bench {
namespace {

/// Whether an algorithm is a case for each of the exchanges, of which the first is the default.
bool takes(const Options& options, const std::string& algorithm, SparseExchange exchange) {
  return has_slots(algorithm) || exchange == options.exchanges.front();
}

}  // namespace

bool has_slots(const std::string& algorithm) {
  return algorithm != "dense" && algorithm != "gtopk";
}

std::string_view to_string(SparseExchange exchange) {
  return exchange == SparseExchange::slots ? "slots" : "exact";
}

std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const index_t n : options.sizes) {
    for (const double density : options.densities) {
      for (const std::string& algorithm : options.algorithms) {
        for (const SparseExchange exchange : options.exchanges) {
          if (!takes(options, algorithm, exchange)) continue;
          for (const DType dtype : options.dtypes) {
            cases.push_back({algorithm, exchange, dtype, n, density});
          }
        }
      }
    }
  }
  return cases;
}

SparseOptions sparse_options(const Options& options, const Case& at, Device device) {
  SparseOptions sparse;
  sparse.algorithm = at.algorithm;
  sparse.exchange = at.exchange;
  sparse.dtype = at.dtype;
  sparse.density = at.density;
  sparse.device = device;
  sparse.op = ReduceOp::sum;
  sparse.selector = options.selector;
  sparse.oktopk.partition = options.partition;
  sparse.oktopk.balance = options.balances ? SparseBalance::on : SparseBalance::off;
  return sparse;
}

}  // namespace weft::sparse_bench
