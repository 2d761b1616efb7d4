// Allreduce on two threads against MPI_Allreduce on two processes, at every size. The program
// starts itself under mpirun for the MPI side; rounds of both alternate.

#include <weft/weft.hpp>

#include "report.hpp"

#ifdef WEFT_WITH_MPI
#include <mpi.h>
#endif

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

using namespace weft;

namespace {

constexpr index_t smallest = 1;       // doubles
constexpr index_t largest = 8 << 20;  // 64 MiB
constexpr int rounds = 7;

int repeats_for(index_t count) {
  return static_cast<int>(std::clamp<index_t>((4 << 20) / count, 3, 5000));
}

/// Seconds per call for each size; on rank 0.
template <class Allreduce, class Barrier>
std::map<index_t, double> sweep(Allreduce allreduce, Barrier barrier) {
  std::map<index_t, double> times;
  std::vector<double> in(static_cast<std::size_t>(largest), 1.0);
  std::vector<double> out(static_cast<std::size_t>(largest));
  for (index_t count = smallest; count <= largest; count *= 2) {
    const int repeats = repeats_for(count);
    for (int i = 0; i < 2 + repeats / 10; ++i) allreduce(in.data(), out.data(), count);
    barrier();
    times[count] = bench::seconds([&] { allreduce(in.data(), out.data(), count); }, repeats);
  }
  return times;
}

std::map<index_t, double> thread_times() {
  std::map<index_t, double> times;
  run_threads(2, [&](Comm comm) {
    auto mine = sweep(
        [&](const double* in, double* out, index_t count) {
          comm.allreduce(ConstBufferRef(in, count), BufferRef(out, count));
        },
        [&] { comm.barrier(); });
    if (comm.rank() == 0) times = std::move(mine);
  });
  return times;
}

#ifdef WEFT_WITH_MPI
int mpi_child() {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto times = sweep(
      [](const double* in, double* out, index_t count) {
        MPI_Allreduce(in, out, static_cast<int>(count), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      },
      [] { MPI_Barrier(MPI_COMM_WORLD); });
  for (const auto& [count, time] : times) {
    if (rank == 0) fmt::print("{} {:.12e}\n", count, time);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
#endif

std::map<index_t, double> mpi_times(const std::string& program) {
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 " + program +
      " --child";
  std::map<index_t, double> times;
  const std::unique_ptr<FILE, int (*)(FILE*)> child(popen(command.c_str(), "r"), pclose);
  long long count = 0;
  double time = 0;
  while (child != nullptr && std::fscanf(child.get(), "%lld %lf", &count, &time) == 2) {
    times[count] = time;
  }
  return times;
}

std::string size_name(index_t bytes) {
  if (bytes >= (1 << 20)) return fmt::format("{} MiB", bytes >> 20);
  return bytes >= 1024 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef WEFT_WITH_MPI
  if (argc > 1 && std::string(argv[1]) == "--child") return mpi_child();
#endif
  bench::Report report(argc, argv, "Allreduce of doubles, 2 threads vs 2 MPI processes");
  std::map<index_t, bench::PairedTimes> pairs;
  for (int round = 0; round < rounds; ++round) {
    const auto ours = thread_times();
    const auto theirs = mpi_times(argv[0]);
    if (theirs.empty()) {
      fmt::print("allreduce_bench: MPI is not available\n");
      return EXIT_SUCCESS;
    }
    for (const auto& [count, time] : ours) {
      pairs[count].ours.push_back(time);
      pairs[count].baseline.push_back(theirs.at(count));
    }
  }
  for (const auto& [count, pair] : pairs) {
    report.add(size_name(count * 8), "MPI_Allreduce", pair, 1.0);
  }
  return EXIT_SUCCESS;
}
