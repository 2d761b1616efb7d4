#pragma once

#include "sparse_bench/cases.hpp"

namespace weft::sparse_bench {

/// What a rank reports of one call.
struct TraceRow {
  Case at;
  std::string route;
  SparseReport report;
};

/// Makes `calls` calls. Collective; every rank gets its own reports.
std::vector<TraceRow> trace(const Comm& comm, const Options& options, const Case& at, int calls);

/// "exact", "slots", or "-" for an allreduce of all elements.
std::string_view exchange_of(const SparseReport& report);

}  // namespace weft::sparse_bench
