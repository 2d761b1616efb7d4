#pragma once

// Loops over numbers of elements that only the device knows; for *_kernels.cpp files and
// pair_loops.

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/selection_kernels.hpp"

namespace weft::kernels {

#if defined(__CUDACC__)

/// Calls f(i) if there is an element i.
template <class F>
struct CountedLoop {
  Count count;
  F f;
  __device__ void operator()(index_t i) const {
    if (i < count.now()) f(i);
  }
};

/// Calls f(i) for 0 <= i < count.
template <class F>
void for_count(Cuda device, Count count, F f) {
  if (count.exact == nullptr) {
    for_each(device, count.most, f);
  } else {
    for_each(device, count.most, CountedLoop<F>{count, f});
  }
}

#else

/// Calls f(i) for 0 <= i < count.
template <class Device, class F>
void for_count(Device device, Count count, F f) {
  for_each(device, count.now(), f);
}

#endif

}  // namespace weft::kernels
