#include "comm/cuda/gpu_epilogues.hpp"

#include "comm/cuda/fast_epilogues.cuh"
#include "comm/cuda/launch_allreduce.cuh"

#include <algorithm>
#include <cstddef>

namespace weft::detail {

int resident_epilogue_blocks(int ranks, int sharing) {
  int resident = resident_blocks_for<fast::ScaledSum>(ranks, sharing);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    with_sum_type(dtype, 0, [&](auto example, index_t) {
      int blocks = 0;
      cuda_check(fast::resident_blocks_of(&fast::allreduce_rms_norm_kernel<decltype(example)>,
                                          sharing, blocks),
                 "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
      resident = std::min(resident, blocks);
    });
  }
  return resident;
}

void launch_scaled(AllreduceAlgorithm algorithm, const fast::Team& team, ConstBufferRef in,
                   BufferRef out, const Scaling& scaling, int resident, void* stream) {
  fast::ScaledSum op;
  op.factor = scaling.factor;
  op.divides = scaling.divides;
  launch_allreduce(algorithm, team, in, out, op, resident, stream);
}

bool launch_rms_norm(const fast::Team& team, ConstBufferRef in, BufferRef out, const RowNorm& norm,
                     int resident, void* stream) {
  bool fits = true;
  with_sum_type(in.dtype, in.count, [&](auto example, index_t) {
    using T = decltype(example);
    fast::NormRows<T> rows;
    rows.in = static_cast<const T*>(in.data);
    rows.residual = static_cast<T*>(norm.residual.data);
    rows.weight = static_cast<const T*>(norm.weight.data);
    rows.out = static_cast<T*>(out.data);
    rows.rows = static_cast<std::size_t>(in.count / norm.weight.count);
    rows.width = static_cast<std::size_t>(norm.weight.count);
    rows.epsilon = norm.epsilon;
    const std::size_t chunk = fast::rows_per_chunk<T>(team, rows.width);
    fits = chunk > 0;
    if (!fits) return;
    const auto blocks =
        static_cast<int>(std::min({rows.rows, chunk, static_cast<std::size_t>(resident)}));
    fast::allreduce_rms_norm_kernel<T>
        <<<blocks, fast::block_threads, 0, static_cast<cudaStream_t>(stream)>>>(team, rows);
    cuda_check(cudaGetLastError(), "fast allreduce and norm");
  });
  return fits;
}

}  // namespace weft::detail
