// Fills an array on the GPU from a formula and looks at it. Compiled by nvcc, so that the GPU can
// run the lambda; arrays that are elsewhere are filled by the same line.
//   fill_on_gpu --device cuda

#include <weft/weft.hpp>

using namespace weft;

namespace {

// A function of its own: nvcc takes no lambda for the GPU inside of another lambda.
void fill_with_bump(DistributedArray<double>& x) {
  const double middle = static_cast<double>(x.shape()[0]) / 2;
  x.fill([=] __host__ __device__(Index at) {
    const double distance = static_cast<double>(at[0]) - middle;
    return 1 / (1 + distance * distance);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, [](Comm world) {
    DistributedArray<double> x(Layout::scatter(world, {1'000'000}));
    fill_with_bump(x);
    // The sum over all whole numbers is pi coth(pi).
    print(world, "{}: sum {:.6f}\n", to_string(x.layout()), sum(x));
  });
}
