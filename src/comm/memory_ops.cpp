#include "comm/memory_ops.hpp"

#include <weft/core/dispatch.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/reduction_kernels.hpp"

#include <cstring>

namespace weft::detail {

void copy(ConstMemory from, Memory to) {
  if (from.data == to.data || from.count == 0) return;
  const auto bytes = static_cast<std::size_t>(from.bytes());
  if (from.where.host_accessible() && to.where.host_accessible()) {
    std::memmove(to.data, from.data, bytes);
  } else {
    copy_bytes(to.data, to.where, from.data, from.where, bytes);
  }
}

void copy_and_wait(ConstMemory from, Memory to) {
  copy(from, to);
  if (!to.where.host_accessible()) Stream::current(to.where).synchronize();
}

void combine(Device where, DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count) {
  if (!has_op(dtype, op) || op == ReduceOp::avg) [[unlikely]]
    refuse("{} has no reduction '{}'", name_of(dtype), name_of(op));
  dispatch(where,
           [&](auto device) { kernels::combine(device, dtype, op, inputs, outputs, count); });
}

void divide(Memory data, int ranks) {
  dispatch(data.where,
           [&](auto device) { kernels::divide(device, data.dtype, data.count, ranks, data.data); });
}

}  // namespace weft::detail
