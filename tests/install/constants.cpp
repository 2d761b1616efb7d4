// Initializer lists must reach the library unchanged: some compilers miscompile copies of small
// constants. Each case has equal numbers followed by zeros.

#include <weft/weft.hpp>

#include <algorithm>

using namespace weft;

namespace {

struct Mistakes {
  int count = 0;
  void expect(bool right, const char* what) {
    if (right) return;
    fmt::print("wrong: {}\n", what);
    ++count;
  }
};

bool is_splits(const Layout& layout, std::initializer_list<index_t> expected) {
  const auto splits = layout.splits(0);
  return std::equal(splits.begin(), splits.end(), expected.begin(), expected.end());
}

struct Options {
  index_t first = 1;
  index_t second = 1;
  index_t third = 0;
  index_t fourth = 0;
};
[[gnu::noinline]] bool is_default(Options options) {
  asm volatile("" ::: "memory");
  return options.first == 1 && options.second == 1 && options.third == 0 && options.fourth == 0;
}

void check(const Comm& world, Mistakes& mistakes) {
  const Layout grid = Layout::scatter(world, {12, 20});

  const HaloExchange<double> halo(grid, {{1, 1}, {0, 0}});
  mistakes.expect(halo.width(0).before == 1 && halo.width(0).after == 1, "width of axis 0");
  mistakes.expect(halo.width(1).before == 0 && halo.width(1).after == 0, "width of axis 1");
  mistakes.expect(pad<double>(grid, {{2, 2}, {0, 0}}).range().shape() == Shape{16, 20}, "pad");

  mistakes.expect(Shape{3, 3, 0, 0} == Shape(Index{3, 3, 0, 0}) && Shape{3, 3, 0, 0}[2] == 0,
                  "shape");
  mistakes.expect(is_splits(Layout::scatter(world, {6}, 0, {3, 3, 0, 0}), {0, 3, 6, 6, 6}),
                  "extents");
  const Box box{{1, 1, 0, 0}, {1, 1, 0, 0}};
  mistakes.expect(box.offset[2] == 0 && box.shape[3] == 0 && box.end(1) == 2, "box");

  const FftNdOptions transform{.axes = {0, 1}, .nfft = {12, 20}, .sampling = {1, 1}};
  mistakes.expect(transform.sampling == std::vector<double>(2, 1.0), "sampling");
  const GradientOptions slopes{.sampling = {2, 2, 0, 0}};
  mistakes.expect(slopes.sampling[1] == 2 && slopes.sampling[2] == 0, "sampling of a gradient");
  const SolverStatus status{1, 1, 0, 0};
  mistakes.expect(status.residual_norm == 1 && status.gradient_norm == 0, "status");
  mistakes.expect(is_default({}), "options");
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, [](Comm world) {
    Mistakes mistakes;
    check(world, mistakes);
    const int all = world.allreduce(mistakes.count, ReduceOp::sum);
    print(world, "mistakes {}\n", all);
  });
}
