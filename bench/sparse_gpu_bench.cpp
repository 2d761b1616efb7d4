// Sparse allreduces on a GPU: selection with error feedback on one rank against a copy of as many
// bytes and against torch, and Ok-Topk among four threads that share the GPU, also in a graph. Uses
// internal headers: the selection alone is not public. Prints a note without a GPU. The rows of
// torch need its Python package, those of graphs CUDA_DEVICE_MAX_CONNECTIONS=32.

#include <weft/comm/comm.hpp>
#include <weft/comm/launch.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "report.hpp"
#include "sparse_allreduce/exchange.hpp"
#include "sparse_bench/repeated_selection.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace weft;

namespace {

constexpr double density = 0.01;
constexpr int ranks = 4;

Device gpu() { return {DeviceKind::cuda, 0}; }

std::vector<float> random_gradient(index_t n, unsigned seed) {
  std::vector<float> gradient(static_cast<std::size_t>(n));
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (float& x : gradient) x = normal(engine);
  return gradient;
}

Buffer<float> on_gpu(const std::vector<float>& values) {
  Buffer<float> memory(static_cast<index_t>(values.size()), gpu());
  copy_bytes(memory.data(), gpu(), values.data(), Device::cpu(), values.size() * sizeof(float));
  return memory;
}

void wait() { Stream::current(gpu()).synchronize(); }

/// Selects and packs again and again.
class Selection {
 public:
  Selection(const char* selector, Buffer<float>& gradient)
      : selection_(selector, gradient, density) {}

  void run() {
    selection_.run();
    detail::pack_picked(selection_.context());
    wait();
  }
  double selected() const { return selection_.selected(); }

 private:
  sparse_bench::RepeatedSelection selection_;
};

/// Seconds of one selection by torch, or 0.
double torch_seconds(const std::string& program, index_t n) {
  const std::string script = program.substr(0, program.rfind('/') + 1) + "sparse_torch.py";
  FILE* const child = popen(fmt::format("python3 '{}' {} {}", script, n, density).c_str(), "r");
  if (child == nullptr) return 0;
  double seconds = 0;
  const bool found = std::fscanf(child, "%lf", &seconds) == 1;
  return pclose(child) == 0 && found ? seconds : 0;
}

void compare_selections(bench::Report& report, const std::string& program, bool quick) {
  const index_t n = index_t{1} << (quick ? 24 : 27);
  Buffer<float> gradient = on_gpu(random_gradient(n, 7));
  Buffer<std::byte> from(6 * n, gpu());
  Buffer<std::byte> to(6 * n, gpu());
  const auto copy = [&] {
    copy_bytes(to.data(), gpu(), from.data(), gpu(), static_cast<std::size_t>(6 * n));
    wait();
  };
  const double torch = torch_seconds(program, n);
  if (torch <= 0) fmt::print("torch: not measured; it needs the Python package torch\n");
  const auto add = [&](const char* selector, double copy_bar, double torch_bar) {
    Selection selection(selector, gradient);
    selection.run();
    const auto times = bench::compare(
        11, 5, [&] { selection.run(); }, copy);
    const std::string what = fmt::format("{} selection and packing, {} floats", selector, n);
    report.add(what, "copy of 12 bytes per element", times, copy_bar);
    report.add_count(fmt::format("{}: selected / k", selector), selection.selected(), 2);
    if (torch > 0) {
      report.add(what, "torch", {times.ours, std::vector<double>(times.ours.size(), torch)},
                 torch_bar);
    }
  };
  add("reused", 1 / 0.75, 1 / 6.0);
  add("exact", 1 / 0.4, 1 / 3.0);
}

/// A rank's gradient and result on the GPU, and in memory of the host.
struct Tensors {
  std::vector<float> host_gradient;
  std::vector<float> host_result;
  Buffer<float> gradient;
  Buffer<float> result;

  Tensors(index_t n, int rank)
      : host_gradient(random_gradient(n, static_cast<unsigned>(rank))),
        host_result(host_gradient.size()),
        gradient(on_gpu(host_gradient)),
        result(n, gpu()) {}

  std::size_t bytes() const { return host_gradient.size() * sizeof(float); }
};

/// The same calls on the CPU, as a program without GPU kernels would make them.
void run_through_host(SparseAllreduce& reduce, Tensors& tensors) {
  copy_bytes(tensors.host_gradient.data(), Device::cpu(), tensors.gradient.data(), gpu(),
             tensors.bytes());
  reduce.run(tensors.host_gradient, tensors.host_result);
  copy_bytes(tensors.result.data(), gpu(), tensors.host_result.data(), Device::cpu(),
             tensors.bytes());
}

SparseOptions oktopk(double of_elements, Device device) {
  SparseOptions options;
  options.density = of_elements;
  options.device = device;
  return options;
}

void compare_with_host(bench::Report& report, const Comm& comm, bool quick) {
  const index_t n = quick ? 1 << 20 : 14728266;
  Tensors tensors(n, comm.rank());
  SparseAllreduce on_device(comm, n, oktopk(0.02, gpu()));
  SparseAllreduce on_host(comm, n, oktopk(0.02, Device::cpu()));
  // One period of thresholds of each.
  const int calls = 32;
  const auto times = bench::compare(
      quick ? 1 : 3, 1,
      [&] {
        for (int i = 0; i < calls; ++i) on_device.run(tensors.gradient, tensors.result);
        wait();
        comm.barrier();
      },
      [&] {
        for (int i = 0; i < calls / 8; ++i) run_through_host(on_host, tensors);
        wait();
        comm.barrier();
      });
  if (comm.rank() != 0) return;
  bench::PairedTimes each = times;
  for (double& time : each.ours) time /= calls;
  for (double& time : each.baseline) time /= calls / 8;
  report.add(fmt::format("oktopk, {} ranks, {} floats, 2 %", comm.size(), n), "through the host",
             each, 1 / 5.0);
}

void time_small(bench::Report& report, const Comm& comm) {
  const index_t n = 1 << 16;
  Tensors tensors(n, comm.rank());
  SparseAllreduce reduce(comm, n, oktopk(density, gpu()));
  const auto run = [&] {
    reduce.run(tensors.gradient, tensors.result);
    wait();
  };
  for (int i = 0; i < 40; ++i) run();
  comm.barrier();
  const double mine = bench::seconds(run, 200);
  const double longest = comm.allreduce(mine, ReduceOp::max);
  if (comm.rank() != 0) return;
  report.add_count(fmt::format("oktopk, {} ranks, {} floats, us per call", comm.size(), n),
                   longest * 1e6, 60);
}

/// The same in slots, in a graph.
void time_graph(bench::Report& report, const Comm& comm) {
  const index_t n = 1 << 16;
  if (!comm.route(gpu()).capturable) {
    if (comm.rank() == 0) {
      fmt::print("graphs: not measured; the route '{}' cannot be captured\n",
                 comm.route(gpu()).name);
    }
    return;
  }
  Tensors tensors(n, comm.rank());
  SparseOptions options = oktopk(density, gpu());
  options.exchange = SparseExchange::slots;
  SparseAllreduce reduce(comm, n, options);
  // The first call looks for thresholds and regions.
  for (int i = 0; i < 2; ++i) reduce.run(tensors.gradient, tensors.result);
  const Graph graph = Graph::capture(gpu(), [&] { reduce.run(tensors.gradient, tensors.result); });
  for (int i = 0; i < 40; ++i) graph.launch();
  wait();
  comm.barrier();
  const index_t waits = Stream::host_waits();
  const index_t allocations = memory_stats(gpu()).allocations;
  comm.barrier();
  for (int i = 0; i < 1000; ++i) graph.launch();
  comm.barrier();
  const auto waited = static_cast<double>(Stream::host_waits() - waits);
  const auto allocated = static_cast<double>(memory_stats(gpu()).allocations - allocations);
  comm.barrier();
  const auto run = [&] {
    graph.launch();
    wait();
  };
  const double longest = comm.allreduce(bench::seconds(run, 200), ReduceOp::max);
  if (comm.rank() != 0) return;
  const std::string what =
      fmt::format("oktopk in slots, {} ranks, {} floats, graph", comm.size(), n);
  report.add_count(what + ", us per launch", longest * 1e6, 60);
  report.add_count(what + ", host waits in 1000", waited, 0);
  report.add_count(what + ", allocations in 1000", allocated, 0);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv, "Sparse allreduces on a GPU");
  if (device_count(DeviceKind::cuda) == 0) {
    fmt::print("sparse_gpu_bench: no GPU\n");
    return EXIT_SUCCESS;
  }
  const bool quick = bench::Options(argc, argv).quick;
  compare_selections(report, argv[0], quick);
  run_threads(ranks, [&](const Comm& comm) {
    compare_with_host(report, comm, quick);
    time_small(report, comm);
    time_graph(report, comm);
  });
  return EXIT_SUCCESS;
}
