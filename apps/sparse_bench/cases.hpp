#pragma once

#include "sparse_bench/options.hpp"

namespace weft::sparse_bench {

/// An algorithm on tensors of one kind.
struct Case {
  std::string algorithm;
  SparseExchange exchange = SparseExchange::exact;
  DType dtype = DType::f32;
  index_t n = 0;
  double density = 0;
};

/// All combinations of the options; algorithms without slots once.
std::vector<Case> cases_of(const Options& options);
/// Whether SparseExchange::slots changes the messages of an algorithm.
bool has_slots(const std::string& algorithm);
std::string_view to_string(SparseExchange exchange);

/// Sums of such tensors.
SparseOptions sparse_options(const Options& options, const Case& at, Device device);

}  // namespace weft::sparse_bench
