#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {

/// A call in which a rank may wait for others.
struct WatchedCall {
  const char* name = nullptr;
  /// Number of the collective call, from begin_collective; 0 if it is not collective.
  std::uint64_t collective = 0;
  /// The rank it waits for, if it is a single one; otherwise negative.
  int peer = -1;
};

/// The calls of this process on one communicator, as seen by the watchdog. One thread writes, at
/// the cost of a few plain stores: it reads no clock.
class WatchedComm {
 public:
  /// The wait of the thread.
  struct Wait {
    /// Odd while it waits; changes with each wait.
    std::uint64_t number = 0;
    WatchedCall call;
  };

  /// `id` is the same on all members, unique in the job, and not 0; `members` are job ranks; `rank`
  /// is the position of this rank among them.
  WatchedComm(std::uint64_t id, std::vector<int> members, int rank)
      : id_(id), members_(std::move(members)), rank_(rank) {}

  std::uint64_t id() const { return id_; }
  int rank() const { return rank_; }
  const std::vector<int>& members() const { return members_; }

  /// Counts a collective call, which has the same number on all ranks.
  std::uint64_t begin_collective() {
    const std::uint64_t number = begun() + 1;
    begun_.store(number, std::memory_order_relaxed);
    return number;
  }
  std::uint64_t begun() const { return begun_.load(std::memory_order_relaxed); }

  /// For the watchdog. The result is consistent if number() is the same after an acquire fence.
  Wait wait() const {
    Wait wait;
    wait.number = number();
    wait.call.name = name_.load(std::memory_order_relaxed);
    wait.call.collective = collective_.load(std::memory_order_relaxed);
    wait.call.peer = peer_.load(std::memory_order_relaxed);
    return wait;
  }
  std::uint64_t number() const { return number_.load(std::memory_order_acquire); }

 private:
  friend class WatchedWait;

  const std::uint64_t id_;
  const std::vector<int> members_;
  const int rank_;
  std::atomic<std::uint64_t> begun_ = 0;
  std::atomic<std::uint64_t> number_ = 0;
  std::atomic<const char*> name_ = nullptr;
  std::atomic<std::uint64_t> collective_ = 0;
  std::atomic<int> peer_ = -1;
};

/// A wait, for the lifetime of the object. Waits do not nest.
class WatchedWait {
 public:
  WatchedWait(WatchedComm& comm, const WatchedCall& call) : comm_(comm) {
    // Readers of the following stores also see the end of the previous wait.
    std::atomic_thread_fence(std::memory_order_release);
    comm_.name_.store(call.name, std::memory_order_relaxed);
    comm_.collective_.store(call.collective, std::memory_order_relaxed);
    comm_.peer_.store(call.peer, std::memory_order_relaxed);
    advance();
  }
  ~WatchedWait() { advance(); }
  WatchedWait(const WatchedWait&) = delete;
  WatchedWait& operator=(const WatchedWait&) = delete;

 private:
  void advance() {
    comm_.number_.store(comm_.number_.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
  }

  WatchedComm& comm_;
};

/// A collective call, for the lifetime of the object; also a wait if it blocks.
class WatchedCollective {
 public:
  WatchedCollective(WatchedComm& comm, const char* name, bool blocks)
      : call_{.name = name, .collective = comm.begin_collective()} {
    if (blocks) wait_.emplace(comm, call_);
  }

  const WatchedCall& call() const { return call_; }

 private:
  WatchedCall call_;
  std::optional<WatchedWait> wait_;
};

}  // namespace weft::detail
