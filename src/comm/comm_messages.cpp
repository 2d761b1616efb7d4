#include <weft/comm/comm.hpp>

#include "comm/arguments.hpp"
#include "comm/issue_call.hpp"

namespace weft {

using detail::Call;
using detail::CallMode;
using detail::Transport;

Request Comm::start_send(AsyncConstBufferRef data, int to) const {
  detail::require_root(*state(), to, "send");
  detail::require_memory(data, "send");
  detail::Traffic traffic;
  traffic.add(data.bytes());
  return detail::issue_call(
      state(),
      {.kind = CallKind::send, .traffic = traffic, .in = data, .mode = CallMode::nonblocking},
      [&](Transport& via, const Call& call) { return via.send(call.in, to); });
}

Request Comm::start_recv(AsyncBufferRef data, int from) const {
  detail::require_root(*state(), from, "recv");
  detail::require_memory(data, "recv");
  return detail::issue_call(
      state(), {.kind = CallKind::recv, .out = data, .mode = CallMode::nonblocking},
      [&](Transport& via, const Call& call) { return via.recv(call.out, from); });
}

void Comm::send(ConstBufferRef data, int to) const { start_send(data, to).wait(); }
void Comm::recv(BufferRef data, int from) const { start_recv(data, from).wait(); }

void Comm::sendrecv(ConstBufferRef out, int to, BufferRef in, int from) const {
  // Checked before anything starts: an error with a message in progress would abort all ranks.
  detail::require_root(*state(), to, "sendrecv");
  detail::require_memory(out, "sendrecv");
  Request receiving = start_recv(in, from);
  Request sending = start_send(out, to);
  sending.wait();
  receiving.wait();
}

}  // namespace weft
