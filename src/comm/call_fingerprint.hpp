#pragma once

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/parts.hpp>
#include <weft/comm/reduce_op.hpp>
#include <weft/comm/stats.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace weft::detail {

/// What must be equal on all ranks in a collective call: kind, element type and device, op, root,
/// count and a hash of the parts; `any` where ranks may differ.
using CallFingerprint = std::array<std::int64_t, 6>;
inline constexpr std::int64_t any = -1;

// Kinds of calls that are compared but not counted by Stats.
inline constexpr std::int64_t split_code = call_kinds;
inline constexpr std::int64_t agree_code = call_kinds + 1;
// Allreduces with an epilogue, whose parameters have a hash in the place of that of parts.
inline constexpr std::int64_t scaled_code = call_kinds + 2;
inline constexpr std::int64_t rms_norm_code = call_kinds + 3;

/// Added to the code of a dtype for each kind of device.
inline constexpr std::int64_t device_code = 256;

template <class E>
std::int64_t code(E value) {
  return static_cast<std::int64_t>(value);
}

/// The element type and the kind of device.
inline std::int64_t type_code(const ConstBufferRef& memory) {
  return code(memory.dtype) + device_code * code(memory.where.kind);
}

/// A non-negative hash of counts and offsets.
std::int64_t hash_of(const Parts& parts);

const char* name_of_call(const CallFingerprint& call);

/// The error text for two ranks that make different calls.
std::string disagreement(int rank, const CallFingerprint& call, int other_rank,
                         const CallFingerprint& other_call);

}  // namespace weft::detail
