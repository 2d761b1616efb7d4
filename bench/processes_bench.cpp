// Blocking allreduces of Comm on processes of one host against the bare MPI_Allreduce, on the same
// buffers. Calls are timed one by one, and the input is written before each of them, as in a
// program: data that no rank has touched since the last call would measure caches.
//
//   processes_bench [--ranks 2,3,16] [--min 8] [--max 64M] [--factor 2] [--seconds 60]
//                   [--bar X] [--json FILE]
//
// --seconds is the time for all numbers of ranks together, without that of starting them.

#include <weft/weft.hpp>

#include "bench/sizes.hpp"
#include "mpi_children.hpp"
#include "report.hpp"

#include <mpi.h>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

using namespace weft;

namespace {

struct Options {
  std::vector<int> ranks = {2};
  std::string min = "8";
  std::string max = "64M";
  int factor = 2;
  double seconds = 60;
  double bar = 0;  // 0: the default of the ranks and the library
  std::string json;
  bool child = false;

  std::vector<index_t> sizes() const {
    return bench::sweep(bench::parse_bytes(min), bench::parse_bytes(max), factor);
  }
};

/// Memory that begins at a page, as large allocations do.
struct PageFree {
  void operator()(float* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<float, PageFree>;

Pages make_pages(index_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t size = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
  Pages pages(static_cast<float*>(std::aligned_alloc(page, size)));
  if (pages == nullptr) throw std::bad_alloc();
  return pages;
}

/// Reading the clock, which is a part of each timed call.
double clock_seconds() {
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) times.push_back(bench::seconds([] {}));
  return bench::median(times);
}

/// Times calls of one size.
class Timer {
 public:
  Timer(const Comm& comm, index_t count, index_t most)
      : comm_(comm), count_(count), in_(make_pages(most)), out_(make_pages(most)) {
    std::fill_n(out_.get(), count, 0.0F);
  }

  void ours() const {
    comm_.allreduce(ConstBufferRef(in_.get(), count_), BufferRef(out_.get(), count_));
  }
  void theirs() const {
    MPI_Allreduce(in_.get(), out_.get(), static_cast<int>(count_), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  /// The mean over the calls; that of the slowest rank.
  template <class F>
  double mean_of(int calls, F call) {
    MPI_Barrier(MPI_COMM_WORLD);
    write_input();
    call();  // not timed: the other side has used the caches
    double seconds = 0;
    for (int i = 0; i < calls; ++i) {
      write_input();
      seconds += bench::seconds(call);
    }
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds / calls;
  }
  bool is_right() const {
    const auto ranks = static_cast<float>(comm_.size());
    const float expected = first_ * ranks + ranks * (ranks - 1) / 2;
    return std::all_of(out_.get(), out_.get() + count_, [&](float x) { return x == expected; });
  }

 private:
  void write_input() {
    first_ = first_ < 1000 ? first_ + 1 : 0;
    std::fill_n(in_.get(), count_, first_ + static_cast<float>(comm_.rank()));
  }

  const Comm& comm_;
  index_t count_;
  Pages in_;
  Pages out_;
  float first_ = 0;
};

/// Prints bytes, our time and theirs, once for each round.
void measure(const Comm& comm, index_t bytes, double seconds) {
  Timer timer(comm, bytes / static_cast<index_t>(sizeof(float)), bytes);
  const auto ours = [&] { timer.ours(); };
  const auto theirs = [&] { timer.theirs(); };
  timer.mean_of(2, ours);
  const bool right = timer.is_right();
  timer.mean_of(2, theirs);
  // Short bursts of each side in turn: of many, few are disturbed, and the median is not.
  constexpr double burst_seconds = 1e-3;
  constexpr double most_calls = 400;
  const double pair = timer.mean_of(3, ours) + timer.mean_of(3, theirs);
  const double calls = std::clamp(2 * burst_seconds / pair, 2.0, most_calls);
  int plan[] = {static_cast<int>(calls),
                static_cast<int>(std::clamp(seconds / calls / pair, 5.0, 101.0))};
  MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
  const auto [burst, rounds] = plan;
  const double clock = clock_seconds();
  for (int round = 0; round < rounds; ++round) {
    const double mine = timer.mean_of(burst, ours) - clock;
    const double other = timer.mean_of(burst, theirs) - clock;
    if (comm.rank() == 0) fmt::print("{} {} {} {}\n", bytes, mine, other, right ? 1 : 0);
  }
  std::fflush(stdout);
}

int run_child(const Options& options) {
  MPI_Init(nullptr, nullptr);
  {
    const Comm comm = mpi_comm(MPI_Comm_c2f(MPI_COMM_WORLD));
    const std::vector<index_t> sizes = options.sizes();
    for (const index_t bytes : sizes) {
      measure(comm, bytes, options.seconds / static_cast<double>(sizes.size()));
    }
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}

/// The ratio that we promise.
double bar(const Options& options, int ranks, index_t bytes) {
  if (options.bar > 0) return options.bar;
  if (bench::mpi_library() != "Open MPI" || bench::more_than_cores(ranks)) return 1;
  if (ranks > 2) return 0.7;
  if (bytes <= 512) return 0.75;
  return bytes <= 65536 ? 0.5 : 0.4;
}

/// Adds the rows of one number of ranks to the report. False if the children failed.
bool measure_ranks(const Options& options, const std::string& program, int ranks,
                   bench::Report& report) {
  std::map<index_t, bench::PairedTimes> pairs;
  bool right = true;
  const std::string child = fmt::format(
      "{} --child --min {} --max {} --factor {} --seconds {}", program, options.min, options.max,
      options.factor, options.seconds / static_cast<double>(options.ranks.size()));
  const bool ran = bench::for_each_line(bench::mpirun(ranks, child), [&](const std::string& line) {
    long long bytes = 0;
    double ours = 0;
    double theirs = 0;
    int correct = 0;
    if (std::sscanf(line.c_str(), "%lld %lf %lf %d", &bytes, &ours, &theirs, &correct) != 4) return;
    pairs[bytes].ours.push_back(ours);
    pairs[bytes].baseline.push_back(theirs);
    right = right && correct == 1;
  });
  for (const auto& [bytes, pair] : pairs) {
    report.add(fmt::format("{} processes, {}", ranks, bench::bytes_text(bytes)),
               bench::mpi_library(), pair, bar(options, ranks, bytes));
  }
  if (!right) fmt::print(stderr, "processes_bench: wrong results on {} ranks\n", ranks);
  if (!ran) fmt::print(stderr, "processes_bench: the run on {} ranks failed\n", ranks);
  return ran && right;
}

void declare(CLI::App& app, Options& options) {
  app.add_option("--ranks", options.ranks, "numbers of ranks")->delimiter(',');
  app.add_option("--min", options.min, "smallest message");
  app.add_option("--max", options.max, "largest message");
  app.add_option("--factor", options.factor, "ratio of each size to the one before");
  app.add_option("--seconds", options.seconds, "time for all ranks and sizes together");
  app.add_option("--bar", options.bar, "upper limit of the ratios");
  app.add_option("--json", options.json, "file for the results");
  app.add_flag("--child", options.child)->group("");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Allreduces on processes of one host against bare MPI");
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  if (options.child) return run_child(options);
  bench::Report report(fmt::format("Allreduce of floats on processes vs {}", bench::mpi_library()),
                       options.json);
  bool good = true;
  for (const int ranks : options.ranks) {
    good = measure_ranks(options, argv[0], ranks, report) && good;
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
