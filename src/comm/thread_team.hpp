#pragma once

// What the ranks of a thread team share. Everything here outlives each rank's own memory, and is
// written by one thread and read by others through acquire and release.

#include <weft/comm/stats.hpp>
#include <weft/core/stream.hpp>

#include "comm/ring.hpp"
#include "comm/thread_job.hpp"
#include "comm/transport.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::detail {

/// What a rank brings to a collective.
struct CollectiveCall {
  CallKind kind = CallKind::barrier;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  /// The data travels in the slot itself; peers do not touch `in` and `out`.
  bool eager = false;
  ConstBufferRef in = {};
  BufferRef out = {};
  /// How `in` is divided (reduce_scatter, scatter, all_to_all).
  const Parts* in_parts = nullptr;
  /// How `out` is divided (all_gather, gather, all_to_all).
  const Parts* out_parts = nullptr;
  /// Takes the place of copying parts in an all_to_all.
  PeerReader* reader = nullptr;
};

/// The collectives that may be under way at once. A rank that starts one more first completes the
/// oldest.
inline constexpr std::uint64_t collective_depth = 8;

/// Where a rank announces a collective. The number, and as much of the data as fits, share a cache
/// line: a small allreduce costs one transfer per peer.
struct alignas(64) Slot {
  /// One more than the sequence number of the collective announced here.
  std::atomic<std::uint64_t> number{0};
  /// How many collectives the rank had worked through when it announced this one.
  std::uint64_t worked = 0;
  /// What all ranks must have in common: see ThreadTransport::tag_of.
  std::uint64_t tag = 0;
  std::array<std::byte, 488> payload;
  CollectiveCall call;
  /// On a GPU, where kernels run later than the ranks that issue them: when the rank's memory is
  /// ready for its peers, and when it is done with theirs.
  Event ready;
  Event done;
};

struct alignas(128) RankBoard {
  std::array<Slot, collective_depth> slots;
  /// How many collectives the rank has worked through: it reads and writes peers' memory for none
  /// of these any more.
  alignas(128) std::atomic<std::uint64_t> worked{0};
  /// The rank is reading or writing memory of its peers.
  alignas(128) std::atomic<bool> busy{false};
};

/// Messages from one rank to another, in order. The sender's memory is read by the receiver.
class alignas(128) Mailbox {
 public:
  /// On a GPU: when the messages posted so far are there to be read, and when those taken so far
  /// have been. Of the latest only, which is never too early.
  Event ready;
  Event read;

  /// Returns the number of the message, from 1.
  std::uint64_t post(ConstBufferRef message);
  bool has_message() const { return posted_.load(std::memory_order_acquire) > taken(); }
  ConstBufferRef front();
  void pop();
  /// How many messages the receiver is done with.
  std::uint64_t taken() const { return taken_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  Ring<ConstBufferRef> ring_;
  std::atomic<std::uint64_t> posted_{0};
  std::atomic<std::uint64_t> taken_{0};
};

struct ThreadTeam {
  /// `members` are their ranks in the job, by which failures are reported.
  ThreadTeam(std::vector<int> members, std::shared_ptr<ThreadJob> shared_job);

  int size() const { return static_cast<int>(job_ranks.size()); }
  RankBoard& board(int rank) { return boards[static_cast<std::size_t>(rank)]; }
  Mailbox& mailbox(int from, int to) {
    return mailboxes[static_cast<std::size_t>(from) * job_ranks.size() +
                     static_cast<std::size_t>(to)];
  }

  std::vector<int> job_ranks;
  std::shared_ptr<ThreadJob> job;
  std::unique_ptr<RankBoard[]> boards;
  std::unique_ptr<Mailbox[]> mailboxes;
  /// Where the first rank of a new team leaves it for the others, while all ranks split.
  std::vector<std::shared_ptr<ThreadTeam>> split_off;
};

}  // namespace weft::detail
