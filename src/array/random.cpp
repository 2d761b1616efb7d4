#include <weft/array/random.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/random_kernels.hpp"

namespace weft {
namespace {

/// The distance between the seeds of the parts of a stack: odd and random, so that the sequences
/// are unrelated.
constexpr std::uint64_t seed_step = 0x632be59bd9b4e019U;

}  // namespace

template <Scalar T>
void fill_random(const ArrayView<T>& x, std::uint64_t seed) {
  if (x.layout().is_stack()) {
    for (int index = 0; index < x.layout().part_count(); ++index) {
      fill_random(x.part(index), seed + seed_step * static_cast<std::uint64_t>(index + 1));
    }
    return;
  }
  dispatch(x.device(), [&](auto device) {
    kernels::fill_random(device, x.shape(), x.layout().box(), seed, kernel_cast(x.data()));
  });
}

#define INSTANTIATE(T) template void fill_random(const ArrayView<T>&, std::uint64_t);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
