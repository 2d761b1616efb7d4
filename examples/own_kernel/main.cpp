// A program with its own kernel, which runs on the device of its array:
//   own_kernel --ranks 3
//   own_kernel --device cuda

#include <weft/kernel/dispatch.hpp>
#include <weft/weft.hpp>

#include "taper_kernels.hpp"

using namespace weft;

namespace {

/// Tapers both ends of an axis.
void taper(DistributedArray<double>& x, int axis, index_t ramp) {
  const Shape& mine = x.local_shape();
  const index_t outer = mine.count(0, axis);
  const index_t inner = mine.count(axis + 1, mine.ndim());
  dispatch(x.device(), [&](auto device) {
    kernels::taper(device, outer, mine[axis], inner, x.offset()[axis], x.shape()[axis], ramp,
                   x.data());
  });
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, [](Comm world) {
    DistributedArray<double> x(Layout::scatter(world, {1000, 8}));
    x.fill(1.0);
    taper(x, 0, 10);
    // Each end of the 8 columns weighs 0 + 0.1 + ... + 0.9 instead of 10: the sum is 8 (1000 - 11).
    print(world, "sum {:.3f}\n", sum(x));
  });
}
