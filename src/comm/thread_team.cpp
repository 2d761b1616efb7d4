#include "comm/thread_team.hpp"

#include <weft/core/error.hpp>

#include <numeric>

namespace weft::detail {

void Failure::raise(int rank, const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (raised_) return;
  rank_ = rank;
  try {
    reason_ = reason;
  } catch (const std::bad_alloc&) {
    // The rank alone must do.
  }
  raised_ = true;
}

void Failure::rethrow() {
  const std::lock_guard lock(mutex_);
  throw AbortedError(rank_, reason_);
}

std::uint64_t Mailbox::post(ConstMemory message) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = posted_.load(std::memory_order_relaxed);
  const std::uint64_t first = taken();
  if (number - first == ring_.size()) {
    std::vector<ConstMemory> larger(2 * ring_.size());
    for (std::uint64_t i = first; i < number; ++i) {
      larger[i % larger.size()] = ring_[i % ring_.size()];
    }
    ring_ = std::move(larger);
  }
  ring_[number % ring_.size()] = message;
  posted_.store(number + 1, std::memory_order_release);
  return number + 1;
}

ConstMemory Mailbox::front() {
  const std::lock_guard lock(mutex_);
  return ring_[taken() % ring_.size()];
}

void Mailbox::pop() {
  // Under the lock, since a sender that enlarges the ring relies on what has been taken.
  const std::lock_guard lock(mutex_);
  taken_.fetch_add(1, std::memory_order_release);
}

ThreadTeam::ThreadTeam(std::vector<int> members, int job, std::shared_ptr<Failure> shared_failure)
    : world_ranks(std::move(members)),
      job_ranks(job),
      failure(std::move(shared_failure)),
      boards(std::make_unique<RankBoard[]>(world_ranks.size())),
      mailboxes(std::make_unique<Mailbox[]>(world_ranks.size() * world_ranks.size())),
      split_off(world_ranks.size()) {}

}  // namespace weft::detail
