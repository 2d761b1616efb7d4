// The overhead of distributed arrays: redistribution, messages, allocations.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdlib>

using namespace weft;

namespace {

/// Rows to columns of a 4096 x 4096 array against an all_to_all of the same size, on two ranks.
bench::PairedTimes redistribution() {
  bench::PairedTimes pair;
  run_threads(2, [&](Comm comm) {
    const Layout rows = Layout::scatter(comm, {4096, 4096}, 0);
    const Layout columns = Layout::scatter(comm, {4096, 4096}, 1);
    DistributedArray<double> x(rows);
    DistributedArray<double> y(columns);
    x.fill([](const Index& at) { return static_cast<double>(at[0] + at[1]); });
    Redistribution<double> plan(rows, columns);
    Buffer<double> in(x.local_count());
    Buffer<double> out(x.local_count());
    std::fill_n(in.data(), in.size(), 1.0);
    std::fill_n(out.data(), out.size(), 0.0);
    const bench::PairedTimes mine = bench::compare(
        15, 1,
        [&] {
          plan.run(x, y);
          comm.barrier();
        },
        [&] {
          comm.all_to_all(in, out);
          comm.barrier();
        });
    if (comm.rank() == 0) pair = mine;
  });
  return pair;
}

struct Costs {
  index_t arithmetic_calls = 0;
  index_t halo_messages = 0;
  index_t allocations = 0;
};

Costs steady_state(int ranks) {
  Costs worst;
  run_threads(ranks, [&](Comm comm) {
    const Layout rows = Layout::scatter(comm, {512, 512});
    DistributedArray<double> x(rows);
    DistributedArray<double> y(rows);
    HaloExchange<double> halo(rows, {{1, 1}, {0, 0}});
    comm.reset_stats();
    x = x + y;
    x = 2.0 * x;
    const auto zeros = x.zeros_like();
    const auto flat = x.copy().reshape({512 * 512});
    const index_t calls = comm.stats().total().calls;
    halo.run(x);
    const index_t messages = comm.stats()[CallKind::send].messages;
    double value = norm(x);
    comm.barrier();
    const index_t before = memory_stats(Device::cpu()).allocations;
    for (int step = 0; step < 100; ++step) {
      halo.run(x);
      axpy(1e-3, y, x);
      value += dot(x, y) + norm(x);
    }
    comm.barrier();
    const index_t allocations = memory_stats(Device::cpu()).allocations - before;
    const index_t most_calls = comm.allreduce(calls, ReduceOp::max);
    const index_t most_messages = comm.allreduce(messages, ReduceOp::max);
    if (comm.rank() == 0) worst = {most_calls, most_messages, allocations};
  });
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv, "Distributed arrays");
  report.add("redistribute 4096x4096, axis 0 to 1, 2 ranks", "all_to_all", redistribution(), 1.5);
  for (const int ranks : {2, 4, 8}) {
    const Costs costs = steady_state(ranks);
    report.add_count(fmt::format("calls for x+y, a*x, copy, zeros, reshape; {} ranks", ranks),
                     static_cast<double>(costs.arithmetic_calls), 0);
    report.add_count(fmt::format("messages per rank and halo exchange; {} ranks", ranks),
                     static_cast<double>(costs.halo_messages), 2);
    report.add_count(fmt::format("allocations in 100 steps; {} ranks", ranks),
                     static_cast<double>(costs.allocations), 0);
  }
  return EXIT_SUCCESS;
}
