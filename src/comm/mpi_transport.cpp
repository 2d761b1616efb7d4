#include "comm/mpi_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/fast_transport.hpp"
#include "core/this_rank.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace weft::detail {

/// Made from the job rank of the communicator's first rank and a counter there. Small ids are not
/// used.
std::uint64_t make_comm_id(MPI_Comm comm) {
  static std::atomic<std::uint32_t> made = 0;
  std::uint64_t id = static_cast<std::uint64_t>(job_rank() + 1) << 32 | made++;
  check(MPI_Bcast(&id, 1, MPI_UINT64_T, 0, comm), "MPI_Bcast");
  return id;
}

// The last chunk of a message is shorter than the limit, and empty if necessary: a receiver that
// expects more chunks than were sent thus sees the end of the message.

void MpiTransport::send_chunks(MpiCall& call, ConstBufferRef data, int to, int tag) {
  for (index_t first = 0; first <= data.count; first += count_limit) {
    const index_t chunk = std::min(data.count - first, count_limit);
    check(MPI_Isend(data.part(first, chunk).data, static_cast<int>(chunk), native(data.dtype), to,
                    tag, comm_, call.add()),
          "MPI_Isend");
  }
}

void MpiTransport::recv_chunks(MpiCall& call, BufferRef data, int from, int tag) {
  for (index_t first = 0; first <= data.count; first += count_limit) {
    const BufferRef chunk = data.part(first, std::min(data.count - first, count_limit));
    MPI_Request* request = call.add({.from = from,
                                     .bytes = chunk.bytes(),
                                     .bytes_before = data.part(0, first).bytes(),
                                     .message_bytes = data.bytes()});
    check(MPI_Irecv(chunk.data, static_cast<int>(chunk.count), native(data.dtype), from, tag, comm_,
                    request),
          "MPI_Irecv");
  }
}

Ticket MpiTransport::send(ConstBufferRef data, int to) {
  MpiCall& call =
      calls_.begin({.name = call_name(CallKind::send), .peer = to}, chunks_of(data.count));
  send_chunks(call, data, to, user_tag);
  return calls_.finish(call, CallMode::nonblocking);
}

Ticket MpiTransport::recv(BufferRef data, int from) {
  MpiCall& call =
      calls_.begin({.name = call_name(CallKind::recv), .peer = from}, chunks_of(data.count));
  recv_chunks(call, data, from, user_tag);
  return calls_.finish(call, CallMode::nonblocking);
}

std::shared_ptr<Transport> MpiTransport::split(int color, int key) {
  const WatchedCollective watched(*watched_, "split", true);
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color < 0 ? MPI_UNDEFINED : color, key, &part), "MPI_Comm_split");
  if (part == MPI_COMM_NULL) return nullptr;
  return std::make_shared<MpiTransport>(OwnedComm(part));
}

void MpiTransport::progress() {
  // MPI makes progress on all communicators in any call.
  int found = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

namespace {

std::shared_ptr<Transport> duplicate(MPI_Comm parent) {
  const JobWait wait("MPI_Comm_dup");
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
  set_this_rank(job_rank());
  return make_fast_transport(std::make_shared<MpiTransport>(OwnedComm(comm)));
}

}  // namespace

std::shared_ptr<Transport> make_mpi_transport(int fortran_handle) {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized == 0) throw CommError("mpi_comm: MPI_Init has not been called yet");
  return duplicate(MPI_Comm_f2c(fortran_handle));
}

std::shared_ptr<Transport> make_mpi_world() { return duplicate(MPI_COMM_WORLD); }

void set_mpi_count_limit(index_t elements) {
  require(elements > 0 && elements <= std::numeric_limits<int>::max(),
          "set_mpi_count_limit: {} is not a valid MPI count", elements);
  MpiTransport::count_limit = elements;
}

}  // namespace weft::detail
