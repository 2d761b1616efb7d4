#pragma once

#include <weft/comm/comm.hpp>

#include "comm/held_error.hpp"
#include "core/pinned_buffer.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

/// What two ranks must have in common to make the same collective call: kind, dtype, op, root,
/// count and a hash of the parts; -1 where it does not matter.
using Fingerprint = std::array<std::int64_t, 6>;

// Kinds of calls that are compared but not counted.
inline constexpr std::int64_t split_code = call_kinds;
inline constexpr std::int64_t agree_code = call_kinds + 1;

/// Added to the code of a dtype for each kind of device.
inline constexpr std::int64_t device_code = 256;

/// What elements are, and whether the host or a device has them.
inline std::int64_t type_code(const ConstBufferRef& memory) {
  return static_cast<std::int64_t>(memory.dtype) +
         device_code * static_cast<std::int64_t>(memory.where.kind);
}

/// What the copies of one Comm share.
struct CommState {
  std::shared_ptr<Transport> transport;
  /// What takes memory of this rank's GPU: the same, NCCL, or null where it is staged.
  std::shared_ptr<Transport> gpu_transport;
  std::vector<std::shared_ptr<Transport>> retired;  // what it was before
  std::optional<Device> gpu;                        // once it is known
  Route route = {"staged", "no GPU has been chosen for this communicator with Comm::on"};
  Stats stats;
  std::shared_ptr<HeldError> held = std::make_shared<HeldError>();
  bool checking = false;
  /// The parts of even collectives, kept so that a call need not allocate.
  Parts even_in;
  Parts even_out;
  std::vector<Fingerprint> fingerprints;
};

/// What a call on device memory, or an average, needs beyond the transport's work.
struct Staging {
  PinnedBuffer in;
  PinnedBuffer out;
  /// Where the staged result goes.
  BufferRef target;
  /// What is to be divided by the number of ranks.
  BufferRef average;
  int ranks = 1;

  void finish();
};

/// Adds the time until its destruction to the statistics of a kind of call.
class CallTimer {
 public:
  CallTimer(CommState& state, CallKind kind)
      : seconds_(state.stats[kind].seconds), start_(std::chrono::steady_clock::now()) {}
  ~CallTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

/// The messages of one call, for the statistics.
struct Traffic {
  index_t messages = 0;
  index_t bytes = 0;
  index_t smallest = 0;
  index_t largest = 0;

  void add(index_t message_bytes);
};

/// Before any call.
inline void throw_if_held(CommState& state) { state.held->throw_if_any(*state.transport); }

/// What is said of ranks that make different calls.
std::string disagreement(int rank, const Fingerprint& call, int other_rank,
                         const Fingerprint& other_call);
/// Compares a call between all ranks; throws the same AgreedError on all of them if they differ.
void verify(CommState& state, const Fingerprint& mine);
std::int64_t hash_of(const Parts& parts);

}  // namespace weft::detail
