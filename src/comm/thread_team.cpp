#include "comm/thread_team.hpp"

namespace weft::detail {

std::uint64_t Mailbox::post(ConstBufferRef message) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = posted_.load(std::memory_order_relaxed);
  ring_.push(taken(), number, message);
  posted_.store(number + 1, std::memory_order_release);
  return number + 1;
}

ConstBufferRef Mailbox::front() {
  const std::lock_guard lock(mutex_);
  return ring_[taken()];
}

void Mailbox::pop() {
  // Under the lock, since a sender that enlarges the ring relies on taken().
  const std::lock_guard lock(mutex_);
  taken_.fetch_add(1, std::memory_order_release);
}

ThreadTeam::ThreadTeam(std::vector<int> members, std::shared_ptr<ThreadJob> shared_job)
    : job_ranks(std::move(members)),
      job(std::move(shared_job)),
      boards(std::make_unique<RankBoard[]>(job_ranks.size())),
      mailboxes(std::make_unique<Mailbox[]>(job_ranks.size() * job_ranks.size())),
      split_off(job_ranks.size()) {}

}  // namespace weft::detail
