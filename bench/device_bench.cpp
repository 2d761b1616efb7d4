// Arrays on a GPU against a copy on the device. Prints a note without a GPU.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdlib>
#include <functional>
#include <string>

using namespace weft;

namespace {

constexpr int rounds = 11;
constexpr int repeats = 5;
constexpr Device gpu = Device::cuda();

/// Runs the work and synchronizes this thread's stream.
template <class F>
auto timed(F work) {
  return [=] {
    work();
    Stream::current(gpu).synchronize();
  };
}

std::size_t bytes_of(double bytes) { return static_cast<std::size_t>(bytes); }

template <class T>
void compare_arithmetic(bench::Report& report, const std::string& type) {
  const index_t n = (index_t{1} << 30) / static_cast<index_t>(sizeof(T));
  const Layout layout = Layout::local({n}).on(gpu);
  DistributedArray<T> x(layout);
  DistributedArray<T> y(layout);
  x.fill(T{1});
  y.fill(T{2});
  const double array = static_cast<double>(sizeof(T)) * static_cast<double>(n);
  const auto raw_copy = timed([&] { copy_bytes(y.data(), gpu, x.data(), gpu, bytes_of(array)); });
  // Scaled to the same number of bytes read and written.
  const auto compare = [&](const char* name, double arrays, const auto& work) {
    bench::PairedTimes pair = bench::compare(rounds, repeats, timed(work), raw_copy);
    for (double& time : pair.baseline) time *= arrays / 2;
    report.add(fmt::format("{} of {}", name, type), "copy of as many bytes", pair, 1 / 0.9);
  };
  const T a{1e-9F};
  compare("copy", 2, [&] { copy(x, y); });
  compare("axpy", 3, [&] { axpy(a, x, y); });
  compare("dot", 2, [&] { static_cast<void>(dot(x, y)); });
  compare("axpy_dot", 3, [&] { static_cast<void>(axpy_dot(a, x, y, y)); });
}

/// Derivatives of 1024^3 floats, forward and adjoint.
void compare_derivatives(bench::Report& report) {
  const Layout layout = Layout::local({1024, 1024, 1024}).on(gpu);
  const auto compare = [&](const std::string& name, const LinearOperator<float>& a) {
    DistributedArray<float> x(a.domain());
    DistributedArray<float> y(a.range());
    DistributedArray<float> other(layout);
    x.fill(1.0F);
    const index_t outputs = y.layout().is_stack() ? y.layout().part_count() : 1;
    const auto raw_copy = timed(
        [&] { copy_bytes(other.data(), gpu, x.data(), gpu, bytes_of(4.0 * 1024 * 1024 * 1024)); });
    const auto add = [&](const std::string& what, const auto& work) {
      bench::PairedTimes pair = bench::compare(rounds, repeats, timed(work), raw_copy);
      for (double& time : pair.baseline) time *= static_cast<double>(1 + outputs) / 2;
      report.add(what, "copy of as many bytes", pair, 1 / 0.85);
    };
    add(name, [&] { a.forward(x, y); });
    add(name + ", adjoint", [&] { a.adjoint(y, x); });
  };
  for (const int axis : {0, 1, 2}) {
    compare(fmt::format("first derivative along axis {}", axis),
            first_derivative<float>(layout, {.axis = axis}));
  }
  compare("laplacian", laplacian<float>(layout, {.axes = {0, 1, 2}}));
  compare("gradient", gradient<float>(layout));
}

constexpr int iterations = 10;
/// Arrays that an iteration of CGLS reads or writes if all possible passes are fused: two by
/// A and two by its adjoint; q, r and again r; s, p and x, and again p and x.
constexpr int passes = 12;
/// The host does not read norms: iterations are launched without waiting.
constexpr index_t never = 1 << 20;

/// CGLS on the Laplacian of 512^3 floats.
void compare_cgls(bench::Report& report) {
  const Layout layout = Layout::local({512, 512, 512}).on(gpu);
  const auto a = laplacian<float>(layout, {.axes = {0, 1, 2}});
  DistributedArray<float> x(layout);
  DistributedArray<float> y(layout);
  fill_random(y, 1);
  Cgls solver(a, y, {.max_iterations = never, .relative_tolerance = 0, .check_every = never});
  const std::size_t bytes = bytes_of(4.0 * static_cast<double>(y.local_count()));
  const bench::PairedTimes pair =
      bench::compare(rounds, 1, timed([&] {
                       for (int i = 0; i < iterations; ++i) solver.step();
                     }),
                     timed([&] {
                       for (int i = 0; i < iterations * passes / 2; ++i) {
                         copy_bytes(x.data(), gpu, y.data(), gpu, bytes);
                       }
                     }));
  report.add("cgls, laplacian of 512^3 floats", "copy of as many bytes", pair, 1 / 0.8);
}

/// A problem so small that launches dominate.
void time_small_cgls(bench::Report& report) {
  const Layout layout = Layout::local({64, 64}).on(gpu);
  const auto a = laplacian<float>(layout);
  DistributedArray<float> y(layout);
  fill_random(y, 1);
  Cgls solver(a, y, {.max_iterations = never, .relative_tolerance = 0, .check_every = never},
              {.damp = 1e-3});
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    times.push_back(bench::seconds(timed([&] {
                      for (int i = 0; i < 1000; ++i) solver.step();
                    })) /
                    1000);
  }
  report.add_count("us per iteration of cgls, laplacian of 64^2", bench::median(times) * 1e6, 25);
}

/// Two ranks on the GPU exchange `width` planes across an axis; in the baseline each copies the
/// same number of bytes.
void compare_halo(bench::Report& report, const std::string& name, const Shape& shape, int axis,
                  index_t width) {
  bench::PairedTimes pair;
  run_threads(2, [&](const Comm& world) {
    const Comm comm = world.on(gpu);
    const Layout layout = Layout::scatter(comm, shape, axis);
    DistributedArray<float> x(layout);
    x.fill(1.0F);
    std::vector<AxisPadding> widths(3);
    widths[static_cast<std::size_t>(axis)] = {width, width};
    HaloExchange<float> halo(layout, widths);
    const index_t count = width * shape.count() / shape[axis];
    Buffer<float> from(count, gpu);
    Buffer<float> to(count, gpu);
    const auto time_of = [&](const auto& work) {
      comm.barrier();
      return bench::seconds([&] {
               timed([&] {
                 for (int i = 0; i < 10; ++i) work();
               })();
             }) /
             10;
    };
    for (int round = 0; round < rounds; ++round) {
      const double ours = time_of([&] { halo.run(x); });
      const double baseline = time_of([&] {
        copy_bytes(to.data(), gpu, from.data(), gpu, bytes_of(4.0 * static_cast<double>(count)));
      });
      if (comm.rank() != 0) continue;
      pair.ours.push_back(ours);
      pair.baseline.push_back(baseline);
    }
  });
  report.add(name, "copy of as many bytes", pair, 2);
}

void count_waits(bench::Report& report) {
  index_t waits = 0;
  run_threads(2, [&](const Comm& world) {
    const Comm comm = world.on(gpu);
    const Layout layout = Layout::scatter(comm, {512, 512, 512});
    DistributedArray<float> x(layout);
    DistributedArray<float> y(layout);
    HaloExchange<float> halo(layout, {{1, 1}, {0, 0}, {0, 0}});
    comm.barrier();
    const index_t before = Stream::host_waits();
    comm.barrier();
    for (int step = 0; step < 100; ++step) {
      axpy(0.5F, x, y);
      halo.run(y);
    }
    comm.barrier();
    if (comm.rank() == 0) waits = Stream::host_waits() - before;
    comm.barrier();
  });
  report.add_count("host waits in 100 steps of axpy and halo, 2 ranks", static_cast<double>(waits),
                   0);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    require_available(gpu);
  } catch (const DeviceError& error) {
    fmt::print("device_bench: {}\n", error.what());
    return EXIT_SUCCESS;
  }
  bench::Report report(argc, argv,
                       "Arrays on one GPU; ranks are threads that share it (no NVLink)");
  compare_arithmetic<double>(report, "1 GiB of doubles");
  compare_arithmetic<float>(report, "1 GiB of floats");
  compare_derivatives(report);
  compare_cgls(report);
  time_small_cgls(report);
  compare_halo(report, "halo of 32 MiB, first axis", {512, 1024, 1024}, 0, 8);
  compare_halo(report, "halo of 32 MiB, last axis", {1024, 1024, 512}, 2, 8);
  compare_halo(report, "halo of 4 MiB, first axis", {512, 1024, 1024}, 0, 1);
  count_waits(report);
  return EXIT_SUCCESS;
}
