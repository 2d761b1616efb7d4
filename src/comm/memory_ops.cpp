#include "comm/memory_ops.hpp"

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/kernel/dispatch.hpp>

#include "comm/epilogue_kernels.hpp"
#include "comm/reduction_kernels.hpp"
#include "core/copy_on_host.hpp"

#include <algorithm>
#include <cstring>
#include <variant>
#include <vector>

namespace weft::detail {
namespace {

constexpr std::size_t max_inputs = kernels::max_gpu_inputs;

}  // namespace

void copy(ConstBufferRef from, BufferRef to) {
  if (from.data == to.data || from.count == 0) return;
  const auto bytes = static_cast<std::size_t>(from.bytes());
  if (from.where.host_accessible() && to.where.host_accessible()) {
    const auto* source = static_cast<const std::byte*>(from.data);
    const auto* target = static_cast<const std::byte*>(to.data);
    if (target + bytes <= source || source + bytes <= target) {
      copy_on_host(to.data, from.data, bytes);
    } else {
      std::memmove(to.data, from.data, bytes);
    }
  } else {
    copy_bytes(to.data, to.where, from.data, from.where, bytes);
  }
}

void copy_and_wait(ConstBufferRef from, BufferRef to) {
  copy(from, to);
  if (!to.where.host_accessible()) Stream::current(to.where).synchronize();
}

void combine(Device where, DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count) {
  if (!has_op(dtype, op) || op == ReduceOp::avg) [[unlikely]]
    refuse("{} has no reduction '{}'", dtype, op);
  std::span<const void* const> some = inputs;
  std::vector<const void*> further;
  if (where.kind == DeviceKind::cuda) some = inputs.first(std::min(inputs.size(), max_inputs));
  dispatch(where, [&](auto device) { kernels::combine(device, dtype, op, some, outputs, count); });
  // A kernel takes a limited number of inputs: combine the rest with the result so far.
  for (std::size_t done = some.size(); done < inputs.size(); done += some.size()) {
    some = inputs.subspan(done, std::min(inputs.size() - done, max_inputs - 1));
    further.assign(1, outputs[0]);
    further.insert(further.end(), some.begin(), some.end());
    dispatch(where,
             [&](auto device) { kernels::combine(device, dtype, op, further, outputs, count); });
  }
}

void divide(BufferRef data, int ranks) {
  dispatch(data.where,
           [&](auto device) { kernels::divide(device, data.dtype, data.count, ranks, data.data); });
}

void apply(const Epilogue& epilogue, BufferRef data) {
  if (const auto* norm = std::get_if<RowNorm>(&epilogue)) {
    const kernels::NormedRows rows = {.dtype = data.dtype,
                                      .rows = data.count / norm->weight.count,
                                      .width = norm->weight.count,
                                      .out = data.data,
                                      .residual = norm->residual.data,
                                      .weight = norm->weight.data,
                                      .epsilon = norm->epsilon};
    return dispatch(data.where, [&](auto device) { kernels::add_rms_norm(device, rows); });
  }
  const auto& scaling = std::get<Scaling>(epilogue);
  if (scaling.divides) return divide(data, static_cast<int>(scaling.factor));
  dispatch(data.where, [&](auto device) {
    kernels::scale(device, data.dtype, data.count, scaling.factor, data.data);
  });
}

}  // namespace weft::detail
