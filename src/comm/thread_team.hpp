#pragma once

// Memory shared by the ranks of a thread team. One thread writes each object and others read it,
// ordered by acquire and release.

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

/// The arguments of a rank in a collective.
struct CollectiveCall {
  CallKind kind = CallKind::barrier;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  /// The data is in the slot itself; peers do not access `in` and `out`.
  bool eager = false;
  ConstBufferRef in = {};
  BufferRef out = {};
  /// How `in` is divided (reduce_scatter, scatter, all_to_all).
  const Parts* in_parts = nullptr;
  /// How `out` is divided (all_gather, gather, all_to_all).
  const Parts* out_parts = nullptr;
  /// Reads instead of copying parts in an all_to_all.
  PeerReader* reader = nullptr;
};

/// The most collectives in progress. A rank that starts one more first completes the oldest.
inline constexpr std::uint64_t collective_depth = 8;

/// Where a rank announces a collective. The number, and as much of the data as fits, share a cache
/// line: a small allreduce costs one transfer per peer.
struct alignas(64) Slot {
  static constexpr index_t payload_bytes = 488;

  /// One more than the sequence number of the collective announced here.
  std::atomic<std::uint64_t> number{0};
  /// Number of collectives that the rank had worked through when it announced this one.
  std::uint64_t worked = 0;
  /// Must be equal on all ranks: see ThreadTransport::tag_of.
  std::uint64_t tag = 0;
  std::array<std::byte, payload_bytes> payload;
  CollectiveCall call;
  /// For GPU memory, since kernels run after they are issued: the rank's memory is ready for its
  /// peers; the rank is done with theirs.
  Event ready;
  Event done;
};

struct alignas(128) RankBoard {
  std::array<Slot, collective_depth> slots;
  /// Number of collectives that the rank has worked through: it no longer accesses peers' memory
  /// for them.
  alignas(128) std::atomic<std::uint64_t> worked{0};
  /// The rank is accessing memory of its peers.
  alignas(128) std::atomic<bool> busy{false};
};

/// Messages from one rank to another, in order. The receiver reads the sender's memory.
class alignas(128) Mailbox {
 public:
  /// For GPU memory: all messages posted so far are ready; all messages taken so far have been
  /// read. Only the latest event is kept, which implies the earlier ones.
  Event ready;
  Event read;

  /// Returns the number of the message, from 1.
  std::uint64_t post(ConstBufferRef message);
  bool has_message() const { return posted_.load(std::memory_order_acquire) > taken(); }
  ConstBufferRef front();
  void pop();
  /// Number of messages that the receiver has read.
  std::uint64_t taken() const { return taken_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  Ring<ConstBufferRef> ring_;
  std::atomic<std::uint64_t> posted_{0};
  std::atomic<std::uint64_t> taken_{0};
};

struct ThreadTeam {
  /// `members` are job ranks, which errors name.
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
  /// The first rank of a new team stores it here for the others during a split.
  std::vector<std::shared_ptr<ThreadTeam>> split_off;
};

}  // namespace weft::detail
