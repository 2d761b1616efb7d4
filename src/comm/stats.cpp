#include <weft/comm/stats.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace weft {

std::string_view to_string(CallKind kind) {
  static constexpr std::array<std::string_view, call_kinds> names = {
      "barrier", "broadcast",  "allreduce", "reduce", "reduce_scatter", "all_gather", "gather",
      "scatter", "all_to_all", "send",      "recv"};
  return names.at(static_cast<std::size_t>(kind));
}

CallStats Stats::total() const {
  CallStats sum;
  for (const CallStats& each : kinds) {
    if (each.messages > 0) {
      sum.smallest = sum.messages > 0 ? std::min(sum.smallest, each.smallest) : each.smallest;
      sum.largest = std::max(sum.largest, each.largest);
    }
    sum.calls += each.calls;
    sum.messages += each.messages;
    sum.bytes += each.bytes;
    sum.seconds += each.seconds;
  }
  return sum;
}

Stats operator-(const Stats& later, const Stats& earlier) {
  Stats difference = later;
  for (std::size_t kind = 0; kind < call_kinds; ++kind) {
    difference.kinds[kind].calls -= earlier.kinds[kind].calls;
    difference.kinds[kind].messages -= earlier.kinds[kind].messages;
    difference.kinds[kind].bytes -= earlier.kinds[kind].bytes;
    difference.kinds[kind].seconds -= earlier.kinds[kind].seconds;
  }
  return difference;
}

std::string to_string(const Stats& stats) {
  std::string text = fmt::format("{:<15}{:>8}{:>10}{:>14}{:>12}{:>12}{:>12}\n", "call", "calls",
                                 "messages", "bytes", "smallest", "largest", "seconds");
  for (int index = 0; index < call_kinds; ++index) {
    const auto kind = static_cast<CallKind>(index);
    const CallStats& each = stats[kind];
    if (each.calls == 0) continue;
    text +=
        fmt::format("{:<15}{:>8}{:>10}{:>14}{:>12}{:>12}{:>12.6f}\n", to_string(kind), each.calls,
                    each.messages, each.bytes, each.smallest, each.largest, each.seconds);
  }
  return text;
}

}  // namespace weft
