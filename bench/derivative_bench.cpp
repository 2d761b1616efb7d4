// Derivatives against a copy of as many bytes as they must read and write.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdlib>
#include <functional>

using namespace weft;

namespace {

constexpr int rounds = 15;

/// Copies what `ours` must move at the least: `arrays` arrays, each read or written once.
bench::Pair against_copies(const Comm& comm, const Layout& layout, int arrays,
                           const std::function<void()>& ours) {
  DistributedArray<double> from(layout);
  DistributedArray<double> to(layout);
  bench::Pair pair = bench::compare(
      rounds, 3,
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

void measure(bench::Report& report, const Comm& comm, const Shape& shape) {
  const Layout layout = Layout::scatter(comm, shape);
  const auto add = [&](const std::string& what, const LinearOperator<double>& a) {
    DistributedArray<double> x(a.domain());
    DistributedArray<double> y(a.range());
    const int arrays = 1 + (y.layout().is_stack() ? y.layout().part_count() : 1);
    const auto forward = against_copies(comm, layout, arrays, [&] { a.forward(x, y); });
    const auto adjoint = against_copies(comm, layout, arrays, [&] { a.adjoint(y, x); });
    if (comm.rank() > 0) return;
    const std::string where = fmt::format("{}, {}, {} rank{}", what, to_string(shape), comm.size(),
                                          comm.size() > 1 ? "s" : "");
    report.add(where, "copy", forward, 1.25);
    report.add(where + ", adjoint", "copy", adjoint, 1.35);
  };
  std::vector<int> axes;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
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
  bench::Report report(argc, argv, "Derivatives of doubles");
  for (const int ranks : {1, 2}) {
    for (const Shape& shape : {Shape{2048, 2048}, Shape{256, 256, 256}}) {
      run_threads(ranks, [&](Comm comm) { measure(report, comm, shape); });
    }
  }
  return EXIT_SUCCESS;
}
