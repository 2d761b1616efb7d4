#include "comm/call_fingerprint.hpp"

#include <weft/core/error.hpp>
#include <weft/core/format.hpp>

#include "core/hash.hpp"

#include <string_view>

namespace weft::detail {
namespace {

std::string describe(const CallFingerprint& call) {
  std::string text = fmt::format("{}(", name_of_call(call));
  std::string comma;
  const auto append = [&](std::string_view what) {
    text += comma + std::string(what);
    comma = ", ";
  };
  if (call[1] >= 0) {
    const auto kind = static_cast<DeviceKind>(call[1] / device_code);
    const auto dtype = static_cast<DType>(call[1] % device_code);
    append(kind == DeviceKind::cpu ? fmt::format("{}", dtype)
                                   : fmt::format("{} on {}", dtype, kind));
  }
  if (call[2] >= 0) append(to_string(static_cast<ReduceOp>(call[2])));
  if (call[3] >= 0) append(fmt::format("root {}", call[3]));
  if (call[4] >= 0) append(fmt::format("count {}", call[4]));
  if (call[5] >= 0) {
    const bool fused = call[0] == scaled_code || call[0] == rms_norm_code;
    append(fmt::format("{} #{:x}", fused ? "parameters" : "parts", call[5] & 0xffff));
  }
  return text + ")";
}

}  // namespace

const char* name_of_call(const CallFingerprint& call) {
  if (call[0] == split_code) return "split";
  if (call[0] == agree_code) return "agree";
  if (call[0] == scaled_code) return "allreduce_scaled";
  if (call[0] == rms_norm_code) return "allreduce_rms_norm";
  return to_string(static_cast<CallKind>(call[0])).data();
}

std::int64_t hash_of(const Parts& parts) {
  Hash hash;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    hash.add(parts.count(rank));
    if (parts.count(rank) > 0) hash.add(parts.offset(rank));
  }
  return static_cast<std::int64_t>(hash.value() >> 1);
}

std::string disagreement(int rank, const CallFingerprint& call, int other_rank,
                         const CallFingerprint& other_call) {
  return fmt::format(
      "ranks disagree about a collective call: rank {} calls {}, but rank {} calls {}; all ranks "
      "must make the same calls in the same order",
      rank, describe(call), other_rank, describe(other_call));
}

}  // namespace weft::detail
