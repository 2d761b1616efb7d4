#pragma once

// Local operations of transports on memory of any device, ordered on this thread's stream.

#include "comm/epilogue.hpp"
#include "comm/transport.hpp"

#include <span>

namespace weft::detail {

/// Copies all bytes of `from`. Does nothing if both are the same memory.
void copy(ConstBufferRef from, BufferRef to);
/// Copies and waits, for callers that then access the memory outside the stream.
void copy_and_wait(ConstBufferRef from, BufferRef to);

/// See kernels::combine.
void combine(Device where, DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count);

/// Divides by the number of ranks, which turns a sum into an average.
void divide(BufferRef data, int ranks);

/// The epilogue of an allreduce whose sums are in `data`.
void apply(const Epilogue& epilogue, BufferRef data);

}  // namespace weft::detail
