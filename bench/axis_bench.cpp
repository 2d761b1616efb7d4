// Operators that move or add elements along an axis against a copy of the bytes that they read and
// write.

#include <weft/array/random.hpp>
#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdlib>
#include <functional>

using namespace weft;

namespace {

using Array = DistributedArray<double>;

struct Measurement {
  bench::Report& report;
  const bench::Options& options;
  int ranks;
  Shape shape;
};

constexpr double bar = 1.3;

bench::PairedTimes against_copy(const Measurement& all, const Comm& comm, const Array& from,
                                Array& to, const std::function<void()>& ours) {
  return bench::compare(
      all.options.quick ? 7 : 15, 1,
      [&] {
        ours();
        comm.barrier();
      },
      [&] {
        to = from;
        comm.barrier();
      });
}

void measure(const Measurement& all, const Comm& comm) {
  const Layout layout = Layout::scatter(comm, all.shape);
  const Array x = random_array<double>(layout, 1);
  Array y(layout);
  Array copied(layout);
  const auto add = [&](const std::string& what, int axis, const auto& make) {
    const std::string where = fmt::format(
        "{}, axis {}{}, {}, {} rank{}", what, axis, layout.is_cut(axis) ? " (distributed)" : "",
        to_string(all.shape), all.ranks, all.ranks > 1 ? "s" : "");
    if (!all.options.has(where) && !all.options.has(where + ", adjoint")) return;
    const LinearOperator<double> a = make();
    const auto forward = against_copy(all, comm, x, copied, [&] { a.forward(x, y); });
    const auto adjoint = against_copy(all, comm, x, copied, [&] { a.adjoint(x, y); });
    if (comm.rank() > 0) return;
    all.report.add(where, "copy", forward, bar);
    all.report.add(where + ", adjoint", "copy", adjoint, bar);
  };
  for (int axis = 0; axis < all.shape.ndim(); ++axis) {
    add("flip", axis, [&] { return flip<double>(layout, {.axis = axis}); });
    add("roll", axis, [&] { return roll<double>(layout, {.axis = axis, .shift = 100}); });
    add("causal_integration", axis,
        [&] { return causal_integration<double>(layout, {.axis = axis}); });
    for (const index_t length : {5, 9, 15}) {
      add(fmt::format("smoothing {}", length), axis,
          [&] { return smoothing<double>(layout, {length}, {.axes = {axis}}); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  bench::Report report(argc, argv, "Moves and sums along an axis, of doubles");
  for (const int ranks : {1, 2}) {
    for (const Shape& shape : {Shape{2048, 2048}, Shape{256, 256, 256}}) {
      run_threads(ranks, [&](Comm comm) { measure({report, options, ranks, shape}, comm); });
    }
  }
  return EXIT_SUCCESS;
}
