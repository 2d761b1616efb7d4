#pragma once

#include <weft/comm/transport.hpp>

#include <span>

namespace weft::detail {

/// outputs[*][i] = inputs[0][i] op inputs[1][i] op ... for i < count, always in that order. 16-bit
/// floats are combined in float and rounded once. An output may be one of the inputs.
void combine(DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count);

/// Divides floating-point numbers by the number of ranks: what makes an average of a sum.
void divide(Memory data, int ranks);

}  // namespace weft::detail
