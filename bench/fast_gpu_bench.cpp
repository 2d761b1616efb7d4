// Allreduces and an iteration of CGLS among ranks that share a GPU, on the route "fast", against
// kernels and the other routes. The program starts itself for each route, and rounds of all
// alternate. Processes run at once only with the CUDA multi-process service
// (nvidia-cuda-mps-control -d): without it, rows of processes are left out. Prints a note without a
// GPU. These are not times over NVLink.

#include <weft/weft.hpp>

#include "fast_gpu_kernels.hpp"
#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace weft;

namespace {

constexpr int calls_per_graph = 100;
constexpr index_t kib = 1024;
constexpr index_t mib = 1024 * kib;
constexpr index_t sizes[] = {4 * kib, 64 * kib, mib, 16 * mib, 64 * mib};

/// Ends the names of rows of registered memory.
constexpr const char* registered = ".registered";

/// Seconds by name.
using Times = std::map<std::string, double>;

std::string size_name(index_t bytes) {
  return bytes >= mib ? fmt::format("{}MiB", bytes / mib) : fmt::format("{}KiB", bytes / kib);
}

// The part that runs on each route.

/// Seconds per call of `work` on the rank that takes longest.
template <class Work>
double time_of(const Comm& comm, int repeats, Work work) {
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) work();
    Stream::current(comm.device()).synchronize();
  };
  run(1 + repeats / 10);
  comm.barrier();
  const double mine = bench::seconds([&] { run(repeats); }) / repeats;
  return comm.allreduce(mine, ReduceOp::max);
}

void time_graphs(const Comm& comm, Times& times) {
  const Device gpu = comm.device();
  const auto time_graph = [&](const std::string& name, const auto& work) {
    work();
    const Graph graph = Graph::capture(gpu, [&] {
      for (int i = 0; i < calls_per_graph; ++i) work();
    });
    times[name] = time_of(comm, 20, [&] { graph.launch(); }) / calls_per_graph;
  };
  const index_t count = mib / 4;
  Buffer<float> in(count, gpu);
  Buffer<float> out(count, gpu);
  // Threads of one process: each reads the inputs of all.
  const std::vector<std::uint64_t> mine = {reinterpret_cast<std::uintptr_t>(in.data())};
  std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(mine, all);
  bench::Inputs inputs = {{}, comm.size()};
  for (int rank = 0; rank < comm.size(); ++rank) {
    inputs.data[rank] = reinterpret_cast<const float*>(all[static_cast<std::size_t>(rank)]);
  }
  void* const stream = Stream::current(gpu).handle();
  time_graph("empty", [&] { bench::launch_empty(stream); });
  time_graph("graph.4KiB", [&] {
    comm.allreduce(ConstBufferRef(in.data(), kib, gpu), BufferRef(out.data(), kib, gpu));
  });
  time_graph("read.1MiB", [&] {
    bench::launch_read(inputs, out.data(), static_cast<std::size_t>(count), stream);
  });
  time_graph("graph.1MiB", [&] { comm.allreduce(in, out); });
}

void time_calls(const Comm& comm, const std::string& kind, BufferRef in, BufferRef out,
                Times& times) {
  for (const index_t bytes : sizes) {
    const int repeats = bytes > mib ? 20 : 200;
    times[size_name(bytes) + kind] = time_of(
        comm, repeats, [&] { comm.allreduce(in.part(0, bytes / 4), out.part(0, bytes / 4)); });
  }
}

void time_calls(const Comm& comm, Times& times) {
  constexpr index_t most = sizes[std::size(sizes) - 1];
  {
    Buffer<float> in(most / 4, comm.device());
    Buffer<float> out(most / 4, comm.device());
    time_calls(comm, "", in, out, times);
  }
  if (comm.transport() == "thread" || comm.route(comm.device()).name != "fast") return;
  const RegisteredMemory in = RegisteredMemory::allocate(comm, most);
  const RegisteredMemory out = RegisteredMemory::allocate(comm, most);
  if (!in.is_direct() || !out.is_direct()) throw Error("bench: " + in.obstacle() + out.obstacle());
  time_calls(comm, registered, in.as<float>(), out.as<float>(), times);
}

void time_cgls(const Comm& comm, Times& times) {
  const Layout layout = Layout::scatter(comm, {64, 64}).on(comm.device());
  const auto a = first_derivative<float>(layout, {.axis = 0});
  DistributedArray<float> y(layout);
  fill_random(y, 1);
  constexpr index_t never = 1 << 20;
  Cgls solver(a, y, {.max_iterations = never, .relative_tolerance = 0, .check_every = never},
              {.damp = 1e-3});
  times["cgls"] = time_of(comm, 500, [&] { solver.step(); });
}

int run_child(int argc, char** argv) {
  return launch(argc, argv, [](const Comm& comm) {
    Times times;
    const Route route = comm.route(comm.device());
    time_calls(comm, times);
    if (comm.transport() == "thread") {
      if (route.capturable) time_graphs(comm, times);
      time_cgls(comm, times);
    }
    if (comm.rank() != 0) return;
    fmt::print("route {}\n", route.name);
    for (const auto& [name, time] : times) fmt::print("{} {:.12e}\n", name, time);
  });
}

// The part that starts the others and compares.

/// How ranks are started, and the route that their GPU memory takes.
struct Setup {
  std::string name;
  int ranks;
  std::string route;
  std::string command;
};

Setup threads(int ranks, const std::string& route) {
  return {fmt::format("{} threads", ranks), ranks, route,
          fmt::format("{}PROGRAM --child --comm thread --ranks {} --device cuda:0",
                      route == "fast" ? "" : "WEFT_FAST=0 ", ranks)};
}

Setup processes(int ranks, const std::string& route) {
  return {fmt::format("{} processes", ranks), ranks, route,
          fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                      "NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 NCCL_MNNVL_ENABLE=0 "
                      "WEFT_DEVICE_COMM={} mpirun --oversubscribe --bind-to none -n {} sh -c "
                      "'NCCL_HOSTID=$OMPI_COMM_WORLD_RANK exec PROGRAM --child --device cuda:0'",
                      route == "fast" ? "auto" : route, ranks)};
}

/// Empty if the ranks failed or took another route.
Times times_of(const Setup& setup, const std::string& program) {
  std::string command = setup.command;
  command.replace(command.find("PROGRAM"), 7, program);
  FILE* const child = popen(("WEFT_QUIET=1 WEFT_TIMEOUT=30 " + command).c_str(), "r");
  if (child == nullptr) return {};
  Times times;
  std::string route;
  char name[64] = "";
  char value[64] = "";
  while (std::fscanf(child, "%63s %63s", name, value) == 2) {
    if (std::string(name) == "route") {
      route = value;
    } else {
      times[name] = std::strtod(value, nullptr);
    }
  }
  const bool succeeded = pclose(child) == 0;
  if (!succeeded) fmt::print("failed: {}\n", command);
  return succeeded && route == setup.route ? times : Times{};
}

struct Comparison {
  Setup ours;
  std::string row;
  Setup baseline;
  std::string baseline_row;
  double bar;
};

/// The names of rows, for people.
std::string text_of(const std::string& row) {
  static const std::map<std::string, std::string> texts = {
      {"empty", "an empty kernel in the same graph"},
      {"graph.4KiB", "4KiB in a graph of 100 calls"},
      {"read.1MiB", "one kernel that reads all inputs"},
      {"graph.1MiB", "1MiB in a graph of 100 calls"},
      {"cgls", "iteration of cgls on 64^2"}};
  if (row.ends_with(registered)) {
    return row.substr(0, row.size() - std::string(registered).size()) + " of registered memory";
  }
  const auto found = texts.find(row);
  return found == texts.end() ? row : found->second;
}

std::vector<Comparison> comparisons() {
  std::vector<Comparison> all;
  for (const int ranks : {2, 4}) {
    const Setup fast = threads(ranks, "fast");
    const Setup thread = threads(ranks, "thread");
    const Setup shared = processes(ranks, "fast");
    all.push_back({fast, "graph.4KiB", fast, "empty", ranks == 2 ? 3.0 : 4.0});
    all.push_back({fast, "graph.1MiB", fast, "read.1MiB", 2.5});
    for (const index_t bytes : sizes) {
      const std::string size = size_name(bytes);
      all.push_back({fast, size, thread, size, 1.1});
    }
    if (ranks == 4) all.push_back({fast, "cgls", thread, "cgls", 1 / 3.0});
    for (const index_t bytes : sizes) {
      const std::string size = size_name(bytes);
      all.push_back({shared, size, fast, size, 1.5});
      if (bytes >= mib) all.push_back({shared, size + registered, fast, size, 1.5});
      all.push_back({shared, size, processes(ranks, "staged"), size, bytes > mib ? 1 : 0.3});
      all.push_back({shared, size, processes(ranks, "nccl"), size, bytes > mib ? 1 : 0.2});
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--child") {
    argv[1] = argv[0];
    int left = argc - 1;
    return run_child(left, argv + 1);
  }
  bench::Report report(argc, argv, "Allreduce of floats among ranks that share a GPU");
  if (device_count(DeviceKind::cuda) == 0) {
    fmt::print("fast_gpu_bench: no GPU\n");
    return EXIT_SUCCESS;
  }
  const std::size_t rounds = bench::Options(argc, argv).quick ? 3 : 5;
  const std::vector<Comparison> rows = comparisons();
  std::map<std::string, std::vector<Times>> measured;  // by command, one for each round
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Comparison& row : rows) {
      for (const Setup& setup : {row.ours, row.baseline}) {
        std::vector<Times>& times = measured[setup.command];
        if (times.size() <= round) times.push_back(times_of(setup, argv[0]));
      }
    }
  }
  for (const Comparison& row : rows) {
    bench::PairedTimes pair;
    for (std::size_t round = 0; round < rounds; ++round) {
      const Times& ours = measured[row.ours.command][round];
      const Times& baseline = measured[row.baseline.command][round];
      if (!ours.contains(row.row) || !baseline.contains(row.baseline_row)) continue;
      pair.ours.push_back(ours.at(row.row));
      pair.baseline.push_back(baseline.at(row.baseline_row));
    }
    const std::string what = fmt::format("{}, {}", text_of(row.row), row.ours.name);
    const std::string baseline =
        row.ours.command != row.baseline.command
            ? fmt::format("{}, route {}", row.baseline.name, row.baseline.route)
            : text_of(row.baseline_row);
    if (pair.ours.empty()) {
      fmt::print("{} vs {}: not measured\n", what, baseline);
    } else {
      report.add(what, baseline, pair, row.bar);
    }
  }
  return EXIT_SUCCESS;
}
