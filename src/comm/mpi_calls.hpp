#pragma once

#include "comm/mpi_native.hpp"
#include "comm/mpi_watch.hpp"

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace weft::detail {

/// One MPI request of a call; for one that receives, also what must arrive.
struct MpiPiece {
  MPI_Request request = MPI_REQUEST_NULL;
  int from = -1;
  index_t bytes = 0;
  index_t bytes_before = 0;
  index_t message_bytes = 0;
};

/// Parts in the numbers of MPI.
struct IntParts {
  std::vector<int> counts;
  std::vector<int> offsets;

  /// Those parts for which includes(rank) holds; the others are empty.
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
  /// Puts the parts one after the other, and returns their length.
  index_t pack();
};

/// A call in progress, and all that MPI reads and writes until it is complete.
struct MpiCall {
  WatchedCall watched;
  std::vector<MpiPiece> pieces;
  std::size_t completed = 0;
  /// To be made when all pieces are complete.
  std::vector<std::pair<ConstBufferRef, BufferRef>> copies;
  IntParts sent;
  IntParts received;
  Buffer<std::byte> scratch;
  Buffer<std::byte> send_scratch;
  Buffer<std::byte> recv_scratch;

  std::size_t index = 0;
  std::uint32_t generation = 1;

  MPI_Request* add(MpiPiece piece = {}) {
    pieces.push_back(piece);
    return &pieces.back().request;
  }
};

/// The calls in progress of a communicator. Their memory is kept and used again, so that calls need
/// not allocate.
class MpiCalls {
 public:
  explicit MpiCalls(WatchedComm& watched) : watched_(watched) {}

  MpiCall& begin(const WatchedCall& watched);
  /// Waits for the call, or gives the ticket to do that later.
  Ticket finish(MpiCall& call, CallMode mode);
  bool test(const Ticket& ticket);
  void wait(const Ticket& ticket);
  /// Cancels what the call would still receive. MPI cannot cancel the rest: see
  /// has_abandoned_calls.
  void abandon(const Ticket& ticket) noexcept;

 private:
  static void cancel_receives(MpiCall& call, std::size_t first);
  void release(MpiCall& call);
  MpiCall* find(const Ticket& ticket);
  /// Completes pieces until one is not ready; with When::now, waits for it. True after the last.
  bool progress(MpiCall& call, CallMode mode);
  void check_piece(MpiCall& call, const MpiPiece& piece, int code, const MPI_Status& status,
                   CallMode mode);

  WatchedComm& watched_;
  std::deque<MpiCall> calls_;
  std::vector<std::size_t> free_;
};

}  // namespace weft::detail
