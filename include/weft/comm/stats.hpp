#pragma once

#include <weft/core/shape.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

enum class CallKind : std::uint8_t {
  barrier,
  broadcast,
  allreduce,
  reduce,
  reduce_scatter,
  all_gather,
  gather,
  scatter,
  all_to_all,
  send,
  recv,
};
inline constexpr int call_kinds = 11;

std::string_view to_string(CallKind kind);

/// Calls of one kind that one rank has made on one communicator.
struct CallStats {
  index_t calls = 0;
  /// Messages to other ranks: one per send; one per non-empty part of another rank in scatter (on
  /// the root), reduce_scatter and all_to_all; one per call of the other collectives, except on
  /// ranks that only receive in broadcast and gather.
  index_t messages = 0;
  index_t bytes = 0;
  /// The time in these calls; 0 unless Comm::time_calls is on.
  double seconds = 0;
  /// Bytes of the smallest and the largest message.
  index_t smallest = 0;
  index_t largest = 0;
};

struct Stats {
  std::array<CallStats, call_kinds> kinds;

  const CallStats& operator[](CallKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  CallStats& operator[](CallKind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  CallStats total() const;
};

/// The calls between two readings; smallest and largest are those of the later one.
Stats operator-(const Stats& later, const Stats& earlier);

/// A table with one line per kind of call that was made.
std::string to_string(const Stats& stats);

}  // namespace weft
