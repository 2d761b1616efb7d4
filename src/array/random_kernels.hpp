#pragma once

#include <weft/core/shape.hpp>

#include <cstdint>

namespace weft::kernels {

/// A random number in [-1, 1) for each element of a box of a global array.
template <class Device, class T>
void fill_random(Device device, const Shape& shape, const Box& box, std::uint64_t seed, T* x);

}  // namespace weft::kernels
