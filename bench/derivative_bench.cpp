// Derivatives against a copy of the bytes that they must read and write.
//
// Every row is measured with arrays from the memory pool and, "in step", with arrays of a caller
// that have the same offset in a page: on some processors loads then wait for unrelated stores (4
// KiB aliasing).

#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>

using namespace weft;

namespace {

using Array = DistributedArray<double>;

/// Ranks and threads per rank; 0 threads: the cores divided by the ranks.
struct World {
  std::string name;
  int ranks;
  int threads;
};

enum class Placement : std::uint8_t { pool, in_step };

/// Memory with a fixed offset in a page.
class PageAligned {
 public:
  explicit PageAligned(index_t count) : memory_(count + page) {
    const auto beyond = reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(double) % page;
    begin_ = memory_.data() + (page - static_cast<index_t>(beyond)) % page;
  }
  double* data() { return begin_; }

 private:
  static constexpr index_t page = 4096 / sizeof(double);
  Buffer<double> memory_;
  double* begin_;
};

/// An array of zeros in one of these memories.
class Placed {
 public:
  Placed(const Layout& layout, Placement placement)
      : pooled_(placement == Placement::pool ? layout.local_count() : 0),
        aligned_(placement == Placement::pool ? 0 : layout.local_count()),
        view_(layout, placement == Placement::pool ? pooled_.data() : aligned_.data(),
              layout.local_count()) {
    view_.fill(0.0);
  }
  const ArrayView<double>& operator*() const { return view_; }

 private:
  Buffer<double> pooled_;
  PageAligned aligned_;
  ArrayView<double> view_;
};

struct Measurement {
  bench::Report& report;
  const bench::Options& options;
  World world;
  Shape shape;
};

/// Arrays in the caches may take twice the time of a copy, which is very fast there.
bool is_cached(const Shape& shape) { return shape.count() <= 1'000'000; }

/// The baseline copies `arrays` arrays, each read or written once.
bench::PairedTimes against_copies(const Measurement& all, const Comm& comm, const Array& from,
                                  Array& to, int arrays, const std::function<void()>& ours) {
  // Each timing takes some milliseconds, and all rows take about the same time.
  const index_t count = all.shape.count();
  const int repeats = static_cast<int>(std::clamp<index_t>((8 << 20) / count, 1, 20));
  const int rounds = all.options.quick ? 15 : count > (8 << 20) ? 7 : 9;
  bench::PairedTimes pair = bench::compare(
      rounds, repeats,
      [&] {
        ours();
        comm.barrier();
      },
      [&] {
        to = from;
        comm.barrier();
      });
  for (double& time : pair.baseline) time *= arrays / 2.0;
  return pair;
}

void measure(const Measurement& all, const Comm& comm) {
  const Layout layout = Layout::scatter(comm, all.shape);
  std::optional<Array> from;  // created when a row needs them
  std::optional<Array> to;
  const auto add = [&](const std::string& what, const LinearOperator<double>& a) {
    for (const Placement placement : {Placement::pool, Placement::in_step}) {
      if (placement == Placement::in_step && all.options.quick) continue;
      const std::string where =
          fmt::format("{}, {}, {}{}", what, to_string(all.shape), all.world.name,
                      placement == Placement::in_step ? ", in step" : "");
      if (!all.options.has(where) && !all.options.has(where + ", adjoint")) continue;
      if (!from) {
        from.emplace(layout);
        to.emplace(layout);
      }
      Placed x(a.domain(), placement);
      Placed y(a.range(), placement);
      const int arrays = 1 + (a.range().is_stack() ? a.range().part_count() : 1);
      const auto forward =
          against_copies(all, comm, *from, *to, arrays, [&] { a.forward(*x, *y); });
      const auto adjoint =
          against_copies(all, comm, *from, *to, arrays, [&] { a.adjoint(*y, *x); });
      if (comm.rank() > 0) continue;
      all.report.add(where, "copy", forward, is_cached(all.shape) ? 2 : 1.25);
      all.report.add(where + ", adjoint", "copy", adjoint, is_cached(all.shape) ? 2 : 1.35);
    }
  };
  std::vector<int> axes;
  for (int axis = 0; axis < all.shape.ndim(); ++axis) {
    axes.push_back(axis);
    add(fmt::format("first, axis {}", axis), first_derivative<double>(layout, {.axis = axis}));
  }
  add("first, order 5", first_derivative<double>(layout, {.axis = 0, .edge = true, .order = 5}));
  add("second", second_derivative<double>(layout, {.axis = 0}));
  add("laplacian", laplacian<double>(layout, {.axes = axes}));
  add("gradient", gradient<double>(layout));
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  bench::Report report(argc, argv, "Derivatives of doubles");
  std::vector<Shape> shapes = {{2048, 2048}, {256, 256, 256}};
  std::vector<World> worlds = {{"1 rank", 1, 0}, {"2 ranks", 2, 0}};
  if (!options.quick) {
    shapes.insert(shapes.end(), {{512, 512}, {1000, 1000}, {2000, 2000}, {4096, 4096}});
    worlds.push_back({"1 rank of 1 thread", 1, 1});
  }
  for (const World& world : worlds) {
    for (const Shape& shape : shapes) {
      run_threads(world.ranks, [&](Comm comm) {
        if (world.threads > 0) bench::use_threads(world.threads);
        measure({report, options, world, shape}, comm);
      });
    }
  }
  return EXIT_SUCCESS;
}
