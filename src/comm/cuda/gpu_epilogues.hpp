#pragma once

// The kernels of fast_epilogues.cuh, compiled apart from those of plain sums.

#include "comm/allreduce_table.hpp"
#include "comm/epilogue.hpp"

namespace weft::fast {
struct Team;
}

namespace weft::detail {

/// The least number of blocks of these kernels that fit the GPU beside those of the other ranks.
int resident_epilogue_blocks(int ranks, int sharing);

void launch_scaled(AllreduceAlgorithm algorithm, const fast::Team& team, ConstBufferRef in,
                   BufferRef out, const Scaling& scaling, int resident, void* stream);

/// False, on all ranks, if the slabs cannot hold a row.
bool launch_rms_norm(const fast::Team& team, ConstBufferRef in, BufferRef out, const RowNorm& norm,
                     int resident, void* stream);

}  // namespace weft::detail
