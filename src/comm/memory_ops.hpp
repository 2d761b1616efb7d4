#pragma once

// What transports do with memory besides sending it; on any device, in the order of this thread's
// stream.

#include "comm/transport.hpp"

#include <span>

namespace weft::detail {

/// As many bytes as `from` has. Nothing if both are the same memory.
void copy(ConstBufferRef from, BufferRef to);
/// The same, for those who then read or write the memory past the stream.
void copy_and_wait(ConstBufferRef from, BufferRef to);

/// See kernels::combine.
void combine(Device where, DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count);

/// Divides by the number of ranks: what makes an average of a sum.
void divide(BufferRef data, int ranks);

}  // namespace weft::detail
