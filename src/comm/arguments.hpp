#pragma once

// Argument checks of the calls of Comm, made before anything is sent.

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"

#include <limits>

namespace weft::detail {

inline void require_root(const CommState& state, int root, const char* call) {
  require(root >= 0 && root < state.transport->size(), "Comm::{}: no rank {} among {} ranks", call,
          root, state.transport->size());
}

inline void require_memory(const ConstBufferRef& memory, const char* call) {
  constexpr index_t most = std::numeric_limits<index_t>::max();
  if (memory.dtype > DType::u64) [[unlikely]]
    refuse("Comm::{}: no element type {}", call, static_cast<int>(memory.dtype));
  constexpr index_t most_of_any_type = most / size_of(DType::c128);
  if (memory.count >= 0 && memory.count <= most_of_any_type) [[likely]]
    return;
  if (memory.count < 0 || memory.count > most / size_of(memory.dtype)) {
    refuse("Comm::{}: {} elements of type {} is not a valid size", call, memory.count,
           memory.dtype);
  }
}

inline void require_same(const ConstBufferRef& in, const ConstBufferRef& out, const char* call) {
  require_memory(in, call);
  require_memory(out, call);
  if (in.dtype != out.dtype) [[unlikely]] {
    refuse("Comm::{}: in has type {}, but out has {}", call, in.dtype, out.dtype);
  }
  if (in.where != out.where) [[unlikely]] {
    refuse("Comm::{}: in is on {}, but out is on {}", call, in.where, out.where);
  }
}

inline void require_count(const ConstBufferRef& memory, index_t count, const char* what,
                          const char* call) {
  require(memory.count == count, "Comm::{}: {} has {} elements, but {} are needed", call, what,
          memory.count, count);
}

inline void require_op(DType dtype, ReduceOp op, const char* call) {
  if (op > ReduceOp::avg) [[unlikely]]
    refuse("Comm::{}: no reduction {}", call, static_cast<int>(op));
  if (has_op(dtype, op)) [[likely]]
    return;
  refuse("Comm::{}: {} has no reduction '{}'", call, dtype, op);
}

inline void require_parts(const CommState& state, const Parts& parts, const ConstBufferRef& memory,
                          const char* what, const char* call) {
  require(parts.ranks() == state.transport->size(), "Comm::{}: {} parts for {} ranks", call,
          parts.ranks(), state.transport->size());
  require(parts.extent() <= memory.count, "Comm::{}: the parts extend to element {}, but {} has {}",
          call, parts.extent(), what, memory.count);
}

/// `in` and `out` must be disjoint, or `out` must begin at `same`.
inline void require_no_overlap(const ConstBufferRef& in, const ConstBufferRef& out,
                               const void* same, const char* call) {
  const auto* a = static_cast<const std::byte*>(in.data);
  const auto* b = static_cast<const std::byte*>(out.data);
  const bool apart = in.count == 0 || out.count == 0 || a + in.bytes() <= b || b + out.bytes() <= a;
  require(apart || out.data == same,
          "Comm::{}: in and out overlap; they must be disjoint, or the same memory where that is "
          "allowed",
          call);
}

}  // namespace weft::detail
