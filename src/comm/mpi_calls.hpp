#pragma once

#include "comm/mpi_native.hpp"
#include "comm/mpi_watch.hpp"

#include <cassert>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace weft::detail {

/// One MPI request of a call; for a receive, also the expected size.
struct MpiPiece {
  MPI_Request request = MPI_REQUEST_NULL;
  int from = -1;
  index_t bytes = 0;
  index_t bytes_before = 0;
  index_t message_bytes = 0;
};

/// Parts as 32-bit numbers.
struct IntParts {
  std::vector<int> counts;
  std::vector<int> offsets;

  /// The parts with includes(rank); the others become empty.
  template <class Includes>
  void assign(const Parts& parts, Includes includes) {
    counts.resize(static_cast<std::size_t>(parts.ranks()));
    offsets.resize(counts.size());
    for (int rank = 0; rank < parts.ranks(); ++rank) {
      const bool included = parts.count(rank) > 0 && includes(rank);
      counts[static_cast<std::size_t>(rank)] = included ? static_cast<int>(parts.count(rank)) : 0;
      offsets[static_cast<std::size_t>(rank)] = included ? static_cast<int>(parts.offset(rank)) : 0;
    }
  }
  /// Makes the parts consecutive and returns their total length.
  index_t pack();
};

/// A call in progress with all memory that MPI accesses until it is complete.
struct MpiCall {
  WatchedCall watched;
  std::vector<MpiPiece> pieces;
  std::size_t completed = 0;
  /// Made when all pieces are complete.
  std::vector<std::pair<ConstBufferRef, BufferRef>> copies;
  IntParts sent;
  IntParts received;
  Buffer<std::byte> scratch;
  Buffer<std::byte> send_scratch;
  Buffer<std::byte> recv_scratch;

  std::size_t index = 0;
  std::uint32_t generation = 1;

  /// Allocates nothing: begin() has reserved the memory.
  MPI_Request* add(MpiPiece piece = {}) {
    assert(pieces.size() < pieces.capacity());
    pieces.push_back(piece);
    return &pieces.back().request;
  }
};

/// The calls in progress of a communicator. Their memory is reused, so that calls do not allocate.
class MpiCalls {
 public:
  explicit MpiCalls(WatchedComm& watched) : watched_(watched) {}

  /// A call of at most `pieces` pieces. Their memory is reserved here: when a piece is in progress,
  /// an allocation that fails would leave MPI with memory that the caller may release.
  MpiCall& begin(const WatchedCall& watched, std::size_t pieces = 1);
  /// Waits for a blocking call; returns the ticket of a nonblocking one.
  Ticket finish(MpiCall& call, CallMode mode);
  bool test(const Ticket& ticket);
  void wait(const Ticket& ticket);
  /// Cancels the receives of the call. MPI cannot cancel the rest: see has_abandoned_calls.
  void abandon(const Ticket& ticket) noexcept;

 private:
  static void cancel_receives(MpiCall& call, std::size_t first);
  void release(MpiCall& call) noexcept;
  MpiCall* find(const Ticket& ticket);
  /// Completes pieces until one is not ready; a blocking call waits for it. True after the last.
  bool progress(MpiCall& call, CallMode mode);
  void check_piece(MpiCall& call, const MpiPiece& piece, int code, const MPI_Status& status,
                   CallMode mode);

  WatchedComm& watched_;
  std::deque<MpiCall> calls_;
  std::vector<std::size_t> free_;
};

}  // namespace weft::detail
