#include "comm/peer_reader.hpp"

#include <weft/core/error.hpp>

#include "comm/arguments.hpp"
#include "comm/collective_checks.hpp"
#include "comm/issue_call.hpp"

namespace weft::detail {
namespace {

bool shares_memory(const CommState& state, Device device) {
  const Transport* transport = transport_for(state, device, "shares_memory");
  return transport != nullptr && transport->shares_memory();
}

[[noreturn]] void refuse_reading(std::string_view transport) {
  throw CommError(
      fmt::format("ranks on transport '{}' cannot read each other's memory", transport));
}

}  // namespace

void Transport::read_peers(ConstBufferRef, PeerReader&) { refuse_reading(name()); }
Ticket Transport::read(BufferRef, int, PeerReader&) { refuse_reading(name()); }

bool shares_memory(const Comm& comm, Device device) {
  return shares_memory(*CommAccess::state(comm), device);
}

void read_peers(const Comm& comm, ConstBufferRef mine, const Parts& sent, const Parts& received,
                PeerReader& reader) {
  CommState& state = *CommAccess::state(comm);
  throw_if_held(state);
  require_memory(mine, "read_peers");
  require(shares_memory(state, mine.where), "read_peers: ranks cannot read each other's memory");
  require(sent.ranks() == state.size() && received.ranks() == state.size(),
          "read_peers: {} parts to send and {} to receive, but {} ranks", sent.ranks(),
          received.ranks(), state.size());
  verify_all_to_all(state, mine, sent, received);
  Transport* transport = transport_for(state, mine.where, "read_peers");
  flush_gpu(state, transport);
  record(state, CallKind::all_to_all, messages_of(state, sent, mine.dtype));
  const CallTimer timer(state, CallKind::all_to_all);
  transport->read_peers(mine, reader);
}

Request start_read(const Comm& comm, BufferRef like, int from, PeerReader& reader) {
  const std::shared_ptr<CommState>& state = CommAccess::state(comm);
  require_root(*state, from, "recv");
  require_memory(like, "recv");
  require(shares_memory(*state, like.where), "start_read: ranks cannot read each other's memory");
  return issue_call(
      state, {.kind = CallKind::recv, .out = like, .mode = CallMode::nonblocking},
      [&](Transport& via, const Call& call) { return via.read(call.out, from, reader); });
}

void add_read(MessageBatch& batch, BufferRef like, int from, PeerReader& reader) {
  batch.recv(like, from);
  CommAccess::set_reader(batch, reader);
}

void CommAccess::set_reader(MessageBatch& batch, PeerReader& reader) {
  batch.recvs_.back().reader = &reader;
}

}  // namespace weft::detail
