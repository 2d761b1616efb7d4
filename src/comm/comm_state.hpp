#pragma once

#include <weft/comm/comm.hpp>

#include "comm/call_fingerprint.hpp"
#include "comm/held_error.hpp"
#include "comm/transport.hpp"
#include "core/pinned_buffer.hpp"

#include <forward_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {
class MessageBatch;
}

namespace weft::detail {

/// What a call on staged memory, or an average, needs in addition to the transport's work.
struct Staging {
  PinnedBuffer in;
  PinnedBuffer out;
  /// Destination of the staged result.
  BufferRef target;
  /// Data to divide by the number of ranks.
  BufferRef average;
  int ranks = 1;

  void finish();
};

/// A nonblocking call, from its start to its completion by a Request.
struct PendingCall {
  std::shared_ptr<CommState> state;  // null when idle
  Transport* transport = nullptr;    // one of the state's
  CallKind kind = CallKind::barrier;
  Ticket ticket;
  std::unique_ptr<Staging> staging;
  PendingCall* next_idle = nullptr;
};

/// The state that the copies of one Comm share.
struct CommState {
  std::shared_ptr<Transport> transport;
  /// The transport for this rank's GPU memory: the same, NCCL, that of the
  /// route "fast", or null if it is staged.
  std::shared_ptr<Transport> gpu_transport;
  std::vector<std::shared_ptr<Transport>> retired;  // earlier ones
  std::optional<Device> gpu;                        // set by Comm::on
  Route route = {"staged", "no GPU has been chosen for this communicator with Comm::on"};
  Stats stats;
  std::shared_ptr<HeldError> held = std::make_shared<HeldError>();
  bool checking = false;
  bool timing = false;
  /// The parts of even collectives, kept so that calls do not allocate.
  Parts even_in;
  Parts even_out;
  std::vector<CallFingerprint> fingerprints;
  /// Records of nonblocking calls, kept for the same reason.
  std::forward_list<PendingCall> calls;
  PendingCall* idle_calls = nullptr;

  int rank() const { return transport->rank(); }
  int size() const { return transport->size(); }
};

/// Every call begins with this.
inline void throw_if_held(CommState& state) { state.held->throw_if_any(*state.transport); }

/// Issues the messages that transports have collected.
void flush(CommState& state);

/// Implements Comm::agree.
void agree(CommState& state, std::string_view error);

/// Compares a call between all ranks; throws the same AgreedError on all of them if they differ.
void verify(CommState& state, const CallFingerprint& mine);

/// The private parts of Comm, Request and MessageBatch, for this layer.
struct CommAccess {
  static Comm make(std::shared_ptr<CommState> state, Device device) {
    return {std::move(state), device};
  }
  static const std::shared_ptr<CommState>& state(const Comm& comm) { return comm.state(); }
  static Request request(PendingCall& call) { return Request(call); }
  static void set_reader(MessageBatch& batch, PeerReader& reader);
};

/// The communicator of a transport's ranks. Collective over them.
Comm make_comm(std::shared_ptr<Transport> transport);

}  // namespace weft::detail
