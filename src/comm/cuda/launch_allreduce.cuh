#pragma once

// Launches of fast_allreduce.cuh for element types that are known at run time.

#include <weft/comm/buffer_ref.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/cuda/fast_allreduce.cuh"
#include "core/cuda/cuda_check.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::detail {

/// Calls f with an element of the type in which sums of this type are computed, and the number of
/// such elements: complex numbers are pairs.
template <class F>
void with_sum_type(DType dtype, index_t count, F f) {
  switch (dtype) {
    case DType::f16: return f(__half{}, count);
    case DType::bf16: return f(__nv_bfloat16{}, count);
    case DType::f32: return f(float{}, count);
    case DType::f64: return f(double{}, count);
    case DType::c64: return f(float{}, 2 * count);
    default: return f(double{}, 2 * count);
  }
}

inline fast::Algorithm kernel_for(AllreduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllreduceAlgorithm::ll: return fast::Algorithm::ll;
    case AllreduceAlgorithm::push: return fast::Algorithm::push;
    case AllreduceAlgorithm::relay: return fast::Algorithm::relay;
    default: return fast::Algorithm::two_shot;
  }
}

/// The least number of blocks of the kernels for Op that fit the GPU beside those of the other
/// ranks.
template <class Op>
int resident_blocks_for(int ranks, int sharing) {
  int resident = fast::max_blocks;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    with_sum_type(dtype, 0, [&](auto example, index_t) {
      for (const fast::Algorithm algorithm : {fast::Algorithm::ll, fast::Algorithm::push,
                                              fast::Algorithm::relay, fast::Algorithm::two_shot}) {
        int blocks = 0;
        cuda_check(
            (fast::resident_blocks<decltype(example), Op>(algorithm, ranks, sharing, blocks)),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        resident = std::min(resident, blocks);
      }
    });
  }
  return resident;
}

template <class Op>
void launch_allreduce(AllreduceAlgorithm chosen, const fast::Team& team, ConstBufferRef in,
                      BufferRef out, Op op, int resident, void* stream) {
  const fast::Algorithm algorithm = kernel_for(chosen);
  with_sum_type(in.dtype, in.count, [&](auto example, index_t count) {
    using T = decltype(example);
    const auto elements = static_cast<std::size_t>(count);
    const std::size_t packs = fast::pack_count<T>(elements);
    const bool in_slices =
        algorithm == fast::Algorithm::two_shot || algorithm == fast::Algorithm::relay;
    const std::size_t shares = in_slices ? static_cast<std::size_t>(team.ranks) : 1;
    const int blocks = fast::blocks_for((packs + shares - 1) / shares, resident);
    cuda_check(fast::allreduce<T>(algorithm, team, static_cast<const T*>(in.data),
                                  static_cast<T*>(out.data), elements, blocks,
                                  static_cast<cudaStream_t>(stream), op),
               "fast allreduce");
  });
}

}  // namespace weft::detail
