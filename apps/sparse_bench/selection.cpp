#include "sparse_bench/selection.hpp"

#include <weft/core/stream.hpp>

#include "bench/timing.hpp"
#include "sparse_bench/repeated_selection.hpp"
#include "sparse_bench/tensor.hpp"

namespace weft::sparse_bench {
namespace {

template <class F>
double slowest_seconds(const Comm& comm, F call) {
  comm.barrier();
  const double mine = bench::seconds([&] {
    call();
    Stream::current(comm.device()).synchronize();
  });
  return comm.allreduce(mine, ReduceOp::max);
}

SelectionRow measure_selector(const Comm& comm, const std::string& selector, Tensor& gradient,
                              double density, int calls) {
  const Device device = comm.device();
  RepeatedSelection selection(selector, gradient.ref(), density);
  const index_t copied = selection.least_bytes() / 2;
  const Buffer<std::byte> from(copied, device);
  Buffer<std::byte> to(copied, device);
  const auto select = [&] { return slowest_seconds(comm, [&] { selection.run(); }); };
  const auto copy = [&] {
    return slowest_seconds(comm, [&] {
      copy_bytes(to.data(), device, from.data(), device, static_cast<std::size_t>(copied));
    });
  };
  select();
  copy();
  const bench::PairedTimes times = bench::time_in_turn(calls, select, copy);
  const auto bytes = static_cast<double>(2 * copied);
  SelectionRow row;
  row.selector = selector;
  row.dtype = gradient.ref().dtype;
  row.n = gradient.ref().count;
  row.density = density;
  row.seconds = bench::median(times.ours);
  row.copy_seconds = bench::median(times.baseline);
  row.ratio = times.ratio();
  row.gbs = bytes / 1e9 / row.seconds;
  row.copy_gbs = bytes / 1e9 / row.copy_seconds;
  row.selected = comm.allreduce(selection.selected()) / comm.size();
  return row;
}

}  // namespace

std::vector<SelectionRow> measure_selection(const Comm& comm, const Options& options, int calls) {
  const std::vector<std::string> selectors =
      options.selector.empty() ? sparse_selectors() : std::vector<std::string>{options.selector};
  std::vector<SelectionRow> rows;
  for (const DType dtype : options.dtypes) {
    for (const index_t n : options.sizes) {
      Tensor gradient(n, dtype, comm.device());
      gradient.write([&](index_t i) { return gradient_at(comm.rank(), 0, n, i); });
      for (const double density : options.densities) {
        for (const std::string& selector : selectors) {
          rows.push_back(measure_selector(comm, selector, gradient, density, calls));
        }
      }
    }
  }
  return rows;
}

}  // namespace weft::sparse_bench
