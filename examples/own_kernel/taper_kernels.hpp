#pragma once

#include <weft/core/shape.hpp>

namespace kernels {

/// x *= w along the middle axis of [outer, n, inner], where w rises from 0 to 1 over `ramp` points
/// at both ends of an axis of `total` points. The n points begin at point `first` of that axis.
template <class Device, class T>
void taper(Device device, weft::index_t outer, weft::index_t n, weft::index_t inner,
           weft::index_t first, weft::index_t total, weft::index_t ramp, T* x);

}  // namespace kernels
