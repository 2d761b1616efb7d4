// Transforms of 256^3 complex doubles: on one rank against a plan of FFTW, and on two threads
// against FFTW-MPI on two processes, for which the program starts itself under mpirun. Both sides
// use FFTW_ESTIMATE.

#include <weft/weft.hpp>

#include "report.hpp"

#include <fftw3.h>
#include <omp.h>
#ifdef WEFT_WITH_FFTW_MPI
#include <fftw3-mpi.h>
#endif

#include <complex>
#include <cstdio>
#include <cstdlib>

using namespace weft;

namespace {

using C = std::complex<double>;
constexpr int n = 256;
constexpr int rounds = 7;

fftw_complex* fftw_cast(C* data) { return reinterpret_cast<fftw_complex*>(data); }

double some_value(const Index& at) {
  return static_cast<double>((at[0] * 7 + at[1] * 3 + at[2]) % 11);
}

bench::PairedTimes on_one_rank(FftNorm norm) {
  const Layout layout = Layout::local({n, n, n});
  const auto F = fftnd<C>(layout, {.norm = norm});
  DistributedArray<C> x(layout);
  DistributedArray<C> y(layout);
  x.fill(some_value);
  fftw_plan_with_nthreads(omp_get_max_threads());
  const fftw_plan plan = fftw_plan_dft_3d(n, n, n, fftw_cast(x.data()), fftw_cast(y.data()),
                                          FFTW_FORWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  const bench::PairedTimes pair = bench::compare(
      rounds, 1, [&] { F.forward(x, y); }, [&] { fftw_execute(plan); });
  fftw_destroy_plan(plan);
  return pair;
}

#ifdef WEFT_WITH_FFTW_MPI
/// Prints the time of one transform in seconds.
int mpi_child(unsigned order) {
  MPI_Init(nullptr, nullptr);
  fftw_mpi_init();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t first = 0;
  const std::ptrdiff_t count = fftw_mpi_local_size_3d(n, n, n, MPI_COMM_WORLD, &rows, &first);
  fftw_complex* x = fftw_alloc_complex(static_cast<std::size_t>(count));
  fftw_complex* y = fftw_alloc_complex(static_cast<std::size_t>(count));
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    x[i][0] = x[i][1] = static_cast<double>(i % 11);
    y[i][0] = y[i][1] = 0;
  }
  const fftw_plan plan = fftw_mpi_plan_dft_3d(n, n, n, x, y, MPI_COMM_WORLD, FFTW_FORWARD,
                                              FFTW_ESTIMATE | FFTW_PRESERVE_INPUT | order);
  std::vector<double> times;
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    times.push_back(bench::seconds([&] {
      fftw_execute(plan);
      MPI_Barrier(MPI_COMM_WORLD);
    }));
  }
  if (rank == 0) fmt::print("{}\n", bench::median(times));
  MPI_Finalize();
  return EXIT_SUCCESS;
}

double fftw_mpi_seconds(const std::string& program, bool transposed) {
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 " + program +
      (transposed ? " --transposed" : " --natural");
  FILE* pipe = popen(command.c_str(), "r");
  require(pipe != nullptr, "fft_bench: cannot start {}", command);
  double time = 0;
  const int read = std::fscanf(pipe, "%lf", &time);
  require(pclose(pipe) == 0 && read == 1, "fft_bench: {} failed", command);
  return time;
}

bench::PairedTimes on_two_ranks(const std::string& program, bool transposed) {
  bench::PairedTimes pair;
  for (int round = 0; round < 3; ++round) {
    run_threads(2, [&](Comm comm) {
      const auto F = fftnd<C>(Layout::scatter(comm, {n, n, n}),
                              {.norm = FftNorm::none, .transposed = transposed});
      DistributedArray<C> x(F.domain());
      DistributedArray<C> y(F.range());
      x.fill(some_value);
      std::vector<double> times;
      for (int repeat = 0; repeat < 3; ++repeat) {
        comm.barrier();
        times.push_back(bench::seconds([&] {
          F.forward(x, y);
          comm.barrier();
        }));
      }
      if (comm.rank() == 0) pair.ours.push_back(bench::median(times));
    });
    pair.baseline.push_back(fftw_mpi_seconds(program, transposed));
  }
  return pair;
}
#endif

}  // namespace

int main(int argc, char** argv) {
#ifdef WEFT_WITH_FFTW_MPI
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--natural") return mpi_child(0);
  if (mode == "--transposed") return mpi_child(FFTW_MPI_TRANSPOSED_OUT);
#endif
  bench::Report report(argc, argv, "Fourier transforms of 256^3 complex doubles");
  fftw_init_threads();
  report.add("1 rank", "FFTW", on_one_rank(FftNorm::none), 1.05);
  report.add("1 rank, orthonormal", "FFTW", on_one_rank(FftNorm::ortho), 1.15);
#ifdef WEFT_WITH_FFTW_MPI
  report.add("2 ranks", "FFTW-MPI", on_two_ranks(argv[0], false), 1.0);
  report.add("2 ranks, transposed", "FFTW-MPI", on_two_ranks(argv[0], true), 1.0);
#endif
  return EXIT_SUCCESS;
}
