#pragma once

#include <weft/array/distributed_array.hpp>

#include <cstdint>

namespace weft {

/// Numbers between -1 and 1, as are real and imaginary parts, that depend on the seed and the place
/// in the global array alone: whatever the layout and the number of ranks. No messages.
template <Scalar T>
void fill_random(const ArrayView<T>& x, std::uint64_t seed);
template <Scalar T>
void fill_random(DistributedArray<T>& x, std::uint64_t seed) {
  fill_random(ArrayView<T>(x), seed);
}

template <Scalar T>
DistributedArray<T> random_array(const Layout& layout, std::uint64_t seed) {
  DistributedArray<T> x(layout, uninitialized);
  fill_random(x, seed);
  return x;
}

}  // namespace weft
