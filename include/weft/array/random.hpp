#pragma once

#include <weft/array/distributed_array.hpp>

#include <cstdint>

namespace weft {

/// Fills an array with uniform random numbers in [-1, 1); of complex numbers, both parts. They
/// depend only on the seed and the position in the global array, not on the layout or the number of
/// ranks. No messages.
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
