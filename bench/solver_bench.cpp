// Iterations of CGLS against a copy of the bytes that they must read and write, and the overhead of
// an iteration.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdlib>

using namespace weft;

namespace {

constexpr int rounds = 15;
constexpr int iterations = 10;

/// Arrays that an iteration reads or writes if all possible passes are fused: two by A and two by
/// its adjoint; q, r and again r; s, p and x, and again p and x.
constexpr int passes = 12;

void measure(bench::Report& report, const Comm& comm, index_t n) {
  const Layout layout = Layout::scatter(comm, {n, n});
  const auto a = first_derivative<double>(layout, {.axis = 0});
  DistributedArray<double> y(layout);
  fill_random(y, 1);
  Cgls solver(a, y, {.max_iterations = 1 << 20, .relative_tolerance = 0});
  // Copies cycle through as many arrays as an iteration uses, so that caches help both sides
  // equally.
  std::vector<DistributedArray<double>> arrays(6, DistributedArray<double>(layout));
  const bench::PairedTimes pair = bench::compare(
      rounds, 1,
      [&] {
        for (int i = 0; i < iterations; ++i) solver.step();
        comm.barrier();
      },
      [&] {
        for (std::size_t i = 0; i < iterations * passes / 2; ++i) {
          copy(arrays[2 * i % 6], arrays[(2 * i + 1) % 6]);
        }
        comm.barrier();
      });
  require(solver.stop_reason() == StopReason::running, "{}", solver.message());
  if (comm.rank() > 0) return;
  report.add(fmt::format("cgls, first derivative, {0} x {0}, {1} rank{2}", n, comm.size(),
                         comm.size() > 1 ? "s" : ""),
             "copies", pair, 1.5);
}

void measure_overhead(bench::Report& report, const Comm& comm) {
  const auto a = first_derivative<double>(Layout::scatter(comm, {64}));
  DistributedArray<double> y(a.range());
  fill_random(y, 1);
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    Cgls solver(a, y, {.max_iterations = 1 << 20, .relative_tolerance = 0}, {.damp = 1e-3});
    times.push_back(bench::seconds([&] { solver.step(); }, 1000));
    require(solver.iteration() == 1000, "{}", solver.message());
  }
  report.add_count("us per iteration at 64 unknowns", bench::median(times) * 1e6, 3);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv, "CGLS on doubles");
  run_threads(1, [&](Comm comm) { measure_overhead(report, comm); });
  for (const int ranks : {1, 2}) {
    for (const index_t n : {512, 2048, 4096}) {
      run_threads(ranks, [&](Comm comm) { measure(report, comm, n); });
    }
  }
  return EXIT_SUCCESS;
}
