#pragma once

#include "comm/transport.hpp"

#include <span>

namespace weft::kernels {

/// The most input pointers that fit the arguments of a GPU kernel.
inline constexpr int max_gpu_inputs = 128;

/// outputs[*][i] = inputs[0][i] op inputs[1][i] op ... for i < count, always in that order. 16-bit
/// floats are combined in float and rounded once. An output may be one of the inputs.
template <class Device>
void combine(Device device, DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count);

/// Divides floating-point numbers.
template <class Device>
void divide(Device device, DType dtype, index_t count, int divisor, void* data);

}  // namespace weft::kernels
