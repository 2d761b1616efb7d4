#include <weft/weft.hpp>

using namespace weft;

int main(int argc, char** argv) {
  return launch(argc, argv, [](Comm world) {
    auto grid = Layout::scatter(world, {11, 21});
    DistributedArray<double> x(grid);
    x.fill([](Index at) { return at == Index{5, 10} ? 1.0 : 0.0; });
    print(world, "sum {}\n", sum(x));
  });
}
