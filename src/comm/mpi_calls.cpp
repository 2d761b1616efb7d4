#include "comm/mpi_calls.hpp"

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>

namespace weft::detail {
namespace {

/// The program caught the error that abandoned a call and makes another call.
void end_job_if_abandoned() noexcept {
  if (has_abandoned_calls() && std::uncaught_exceptions() == 0) [[unlikely]]
    abort_job("this rank continued after an error that left a call unfinished");
}

}  // namespace

index_t IntParts::pack() {
  index_t end = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    offsets[rank] = static_cast<int>(end);
    end += counts[rank];
  }
  return end;
}

MpiCall& MpiCalls::begin(const WatchedCall& watched, std::size_t pieces) {
  if (free_.empty()) {
    free_.reserve(calls_.size() + 1);  // release() must not allocate
    MpiCall& made = calls_.emplace_back();
    made.index = calls_.size() - 1;
    free_.push_back(made.index);
  }
  MpiCall& call = calls_[free_.back()];
  call.pieces.reserve(pieces);
  free_.pop_back();
  call.watched = watched;
  return call;
}

void MpiCalls::release(MpiCall& call) noexcept {
  call.pieces.clear();
  call.completed = 0;
  call.copies.clear();
  ++call.generation;
  free_.push_back(call.index);
}

MpiCall* MpiCalls::find(const Ticket& ticket) {
  const std::uint64_t position = ticket.id & 0xffffffffU;
  if (position == 0) return nullptr;
  MpiCall& call = calls_[position - 1];
  return call.generation == ticket.id >> 32 ? &call : nullptr;
}

Ticket MpiCalls::finish(MpiCall& call, CallMode mode) {
  if (mode == CallMode::nonblocking) {
    return {.id = std::uint64_t{call.generation} << 32 | (call.index + 1)};
  }
  progress(call, CallMode::blocking);
  return {};
}

bool MpiCalls::progress(MpiCall& call, CallMode mode) {
  for (; call.completed < call.pieces.size(); ++call.completed) {
    MpiPiece& piece = call.pieces[call.completed];
    MPI_Status status;
    int complete = 1;
    const int code = mode == CallMode::blocking ? MPI_Wait(&piece.request, &status)
                                                : MPI_Test(&piece.request, &complete, &status);
    if (code == MPI_SUCCESS && complete == 0) return false;
    check_piece(call, piece, code, status, mode);
  }
  for (const auto& [from, to] : call.copies) copy_and_wait(from, to);
  release(call);
  return true;
}

void MpiCalls::check_piece(MpiCall& call, const MpiPiece& piece, int code, const MPI_Status& status,
                           CallMode mode) {
  int error = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error);
  if (piece.from < 0 || (error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE)) {
    check(code, "MPI_Wait");
    return;
  }
  MPI_Count bytes = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  if (error == MPI_SUCCESS && bytes == piece.bytes) return;

  // Not every library reports the length of a message that did not fit.
  const bool known = error == MPI_SUCCESS || bytes > piece.bytes;
  const index_t sent = known ? piece.bytes_before + bytes : piece.message_bytes;
  const auto job_rank = [&](int rank) {
    return watched_.members()[static_cast<std::size_t>(rank)];
  };
  const std::string text = fmt::format(
      "rank {} sent {}{} bytes to rank {}, which was to receive {}", job_rank(piece.from),
      known ? "" : "more than ", sent, job_rank(watched_.rank()), piece.message_bytes);
  {
    // A blocking call is already watched.
    std::optional<WatchedWait> wait;
    if (mode == CallMode::nonblocking) wait.emplace(watched_, call.watched);
    cancel_receives(call, call.completed + 1);
  }
  release(call);
  throw CommError(text);
}

void MpiCalls::cancel_receives(MpiCall& call, std::size_t first) {
  for (std::size_t i = first; i < call.pieces.size(); ++i) {
    if (call.pieces[i].from < 0) continue;
    MPI_Cancel(&call.pieces[i].request);
    // A matched receive cannot be cancelled; wait for the rest of its message.
    MPI_Wait(&call.pieces[i].request, MPI_STATUS_IGNORE);
  }
}

void MpiCalls::abandon(const Ticket& ticket) noexcept {
  MpiCall* call = find(ticket);
  if (call == nullptr || has_abandoned_calls()) return;
  {
    const WatchedWait wait(watched_, call->watched);
    cancel_receives(*call, call->completed);
  }
  if (std::any_of(call->pieces.begin() + static_cast<std::ptrdiff_t>(call->completed),
                  call->pieces.end(), [](const MpiPiece& piece) { return piece.from < 0; })) {
    note_abandoned_call();
  } else {
    release(*call);
  }
}

bool MpiCalls::test(const Ticket& ticket) {
  end_job_if_abandoned();
  MpiCall* call = find(ticket);
  return call == nullptr || (!has_abandoned_calls() && progress(*call, CallMode::nonblocking));
}

void MpiCalls::wait(const Ticket& ticket) {
  end_job_if_abandoned();
  MpiCall* call = find(ticket);
  if (call == nullptr) return;
  const WatchedWait wait(watched_, call->watched);
  progress(*call, CallMode::blocking);
}

}  // namespace weft::detail
