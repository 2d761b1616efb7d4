// Fills an array from a formula and sums it. nvcc compiles this file, so that the GPU runs the
// lambda if the array is there; the same line fills arrays on the host.
//   fill_on_gpu --device cuda

#include <weft/weft.hpp>

using namespace weft;

namespace {

// A separate function: nvcc does not allow lambdas for the GPU inside other lambdas.
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
    // The sum over all integers is pi coth(pi) = 3.153348.
    print(world, "{}: sum {:.6f}\n", to_string(x.layout()), sum(x));
  });
}
