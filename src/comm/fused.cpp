#include <weft/comm/fused.hpp>

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>

#include "comm/collective_checks.hpp"
#include "comm/epilogue.hpp"
#include "comm/issue_call.hpp"
#include "comm/memory_ops.hpp"
#include "core/hash.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace weft {
namespace detail {
namespace {

/// An argument, for error texts.
struct Argument {
  const char* name;
  ConstBufferRef memory;
};

void require_size(const char* call, const Argument& a) {
  const index_t most = std::numeric_limits<index_t>::max() / size_of(a.memory.dtype);
  require(a.memory.count >= 0 && a.memory.count <= most,
          "{}: {} elements of type {} is not a valid size of {}", call, a.memory.count,
          a.memory.dtype, a.name);
}

/// Element type and device are those of the first.
void require_like(const char* call, const Argument& first, const Argument& other) {
  const ConstBufferRef& a = first.memory;
  const ConstBufferRef& b = other.memory;
  if (a.dtype != b.dtype) [[unlikely]]
    refuse("{}: {} has type {}, but {} has {}", call, first.name, a.dtype, other.name, b.dtype);
  if (a.where != b.where) [[unlikely]]
    refuse("{}: {} is on {}, but {} is on {}", call, first.name, a.where, other.name, b.where);
  require_size(call, other);
}

void require_count(const char* call, const Argument& first, const Argument& other) {
  require(first.memory.count == other.memory.count, "{}: {} has {} elements, but {} has {}", call,
          first.name, first.memory.count, other.name, other.memory.count);
}

enum class SameMemory { refused, allowed };

void require_apart(const char* call, const Argument& first, const Argument& other,
                   SameMemory same) {
  const auto* a = static_cast<const std::byte*>(first.memory.data);
  const auto* b = static_cast<const std::byte*>(other.memory.data);
  const bool apart = first.memory.count == 0 || other.memory.count == 0 ||
                     a + first.memory.bytes() <= b || b + other.memory.bytes() <= a;
  if (apart || (same == SameMemory::allowed && a == b)) [[likely]]
    return;
  refuse("{}: {} and {} overlap; they must be disjoint{}", call, first.name, other.name,
         same == SameMemory::allowed ? ", or the same memory" : "");
}

/// What ranks must agree on in addition to type and count.
std::int64_t parameter_hash(index_t width, double number) {
  Hash hash;
  hash.add(width).add(std::bit_cast<std::uint64_t>(number));
  return static_cast<std::int64_t>(hash.value() >> 1);
}

/// The sum into `out`, and the epilogue.
void allreduce_and(const char* name, const std::shared_ptr<CommState>& state, ConstBufferRef in,
                   BufferRef out, const Epilogue& epilogue) {
  const Transport::CallScope scope(*state->transport, name);
  const Call sum = {.kind = CallKind::allreduce,
                    .traffic = one_message(*state, in.bytes()),
                    .in = in,
                    .out = out};
  if (issue_fused(*state, sum, epilogue)) return;
  issue_call(state, sum, [](Transport& via, const Call& call) {
    return via.allreduce(call.in, call.out, call.op, call.mode);
  }).wait();
  apply(epilogue, out);
}

void scaled_sum(const Comm& comm, ConstBufferRef in, BufferRef out, double scale) {
  constexpr const char* call = "allreduce_scaled";
  const auto& state = CommAccess::state(comm);
  require(in.dtype <= DType::c128, "{}: the elements must be floating-point or complex numbers",
          call);
  require_size(call, {"in", in});
  require_like(call, {"in", in}, {"out", out});
  require_count(call, {"in", in}, {"out", out});
  require_apart(call, {"in", in}, {"out", out}, SameMemory::allowed);
  verify_if_checking(*state,
                     {scaled_code, type_code(in), any, any, in.count, parameter_hash(1, scale)});
  allreduce_and(call, state, in, out, Scaling{.factor = scale});
}

void normed_sum(const Comm& comm, ConstBufferRef in, BufferRef residual, BufferRef out,
                const RmsNorm& norm) {
  constexpr const char* call = "allreduce_rms_norm";
  const auto& state = CommAccess::state(comm);
  const Argument weight = {"weight", norm.weight};
  const index_t width = norm.weight.count;
  require(in.dtype <= DType::f64, "{}: the elements must be f16, bf16, f32 or f64", call);
  require_size(call, {"in", in});
  for (const Argument& other : {Argument{"residual", residual}, Argument{"out", out}, weight}) {
    require_like(call, {"in", in}, other);
  }
  require_count(call, {"in", in}, {"residual", residual});
  require_count(call, {"in", in}, {"out", out});
  require(width > 0 && in.count % width == 0,
          "{}: {} elements cannot be divided into rows of {}, the length of weight", call, in.count,
          width);
  require(norm.epsilon >= 0, "{}: epsilon must not be negative, got {}", call, norm.epsilon);
  require_apart(call, {"in", in}, {"out", out}, SameMemory::allowed);
  require_apart(call, {"in", in}, {"residual", residual}, SameMemory::refused);
  require_apart(call, {"residual", residual}, {"out", out}, SameMemory::refused);
  require_apart(call, weight, {"residual", residual}, SameMemory::refused);
  require_apart(call, weight, {"out", out}, SameMemory::refused);
  verify_if_checking(*state, {rms_norm_code, type_code(in), any, any, in.count,
                              parameter_hash(width, norm.epsilon)});
  allreduce_and(call, state, in, out,
                RowNorm{.residual = residual, .weight = norm.weight, .epsilon = norm.epsilon});
}

}  // namespace
}  // namespace detail

void allreduce_scaled(const Comm& comm, ConstBufferRef in, BufferRef out, double scale) {
  detail::scaled_sum(comm, in, out, scale);
}

void allreduce_rms_norm(const Comm& comm, ConstBufferRef in, BufferRef residual, BufferRef out,
                        const RmsNorm& norm) {
  detail::normed_sum(comm, in, residual, out, norm);
}

}  // namespace weft
