#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {

/// A call in which a rank may have to wait for others.
struct WatchedCall {
  const char* name = nullptr;
  /// The number of the collective call that it is, by begin_collective; 0 if it is none.
  std::uint64_t collective = 0;
  /// The rank of the communicator that is waited for, if it is one; otherwise negative.
  int peer = -1;
};

/// What this process does on one communicator, for the watchdog to see. One thread writes, and pays
/// a few plain stores for it: no clock is read.
class WatchedComm {
 public:
  /// What the thread waits in.
  struct Wait {
    /// Odd while it waits; another number for each wait.
    std::uint64_t number = 0;
    WatchedCall call;
  };

  /// `id` is the same on all members and on no other communicator, and not 0; `members` are ranks
  /// of the job; `rank` is this one's among them.
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

  /// From the watchdog. All of it is right if number() is the same after an acquire fence.
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

/// A wait, for the life of the object. They do not nest.
class WatchedWait {
 public:
  WatchedWait(WatchedComm& comm, const WatchedCall& call) : comm_(comm) {
    // Whoever reads what follows sees the end of the wait before.
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

/// A collective call, for the life of the object; a wait if it blocks.
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
