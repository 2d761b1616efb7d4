#include "sparse_bench/trace.hpp"

#include "sparse_bench/tensor.hpp"

namespace weft::sparse_bench {

std::string_view exchange_of(const SparseReport& report) {
  if (report.algorithm == "dense") return "-";
  return to_string(report.capacity > 0 ? SparseExchange::slots : SparseExchange::exact);
}

std::vector<TraceRow> trace(const Comm& comm, const Options& options, const Case& at, int calls) {
  SparseAllreduce reduce(comm, at.n, sparse_options(options, at, comm.device()));
  Tensor gradient(at.n, at.dtype, comm.device());
  Tensor result(at.n, at.dtype, comm.device());
  std::vector<TraceRow> rows;
  for (int call = 0; call < calls; ++call) {
    gradient.write([&](index_t i) { return gradient_at(comm.rank(), call, at.n, i); });
    reduce.run(gradient.ref(), result.ref());
    rows.push_back({at, comm.route(comm.device()).name, reduce.report()});
  }
  return rows;
}

}  // namespace weft::sparse_bench
