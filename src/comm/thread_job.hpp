#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::detail {

/// State that all thread ranks of a job share across teams: the first failure and the ranks that
/// have left. A rank that waits in one team must see failures in another.
///
/// Nothing allocates after construction except the exception that rethrow() throws, so that
/// failures are reported even without memory.
class ThreadJob {
 public:
  explicit ThreadJob(int ranks);

  int ranks() const { return ranks_; }

  /// A rank has failed or announced a failure: ranks no longer access memory of others.
  bool stopped() const { return state_.load() != State::running; }
  /// The rank abandons calls because an exception propagates; raise() will report its text. Others
  /// stop at once and wait briefly for the text.
  void announce_failure(int rank) noexcept;
  /// Records a failure; only the first one counts.
  void raise(int rank, std::string_view reason) noexcept;
  /// Throws the failure as an AbortedError on rank `me`. Only when stopped.
  [[noreturn]] void rethrow(int me);
  /// Throws the failure if no rank has thrown it. Call it when all ranks have left.
  void throw_if_unreported() {
    if (stopped() && !reported_) rethrow(-1);
  }

  /// The rank makes no more calls.
  void depart(int rank) noexcept;
  bool anyone_departed() const { return departures_.load(std::memory_order_acquire) > 0; }
  /// If true, everything the rank did before it left is visible (acquire).
  bool has_departed(int rank) const {
    return departed_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }

 private:
  enum class State : int { running, announced, raised };

  int failed_rank();

  int ranks_;
  std::atomic<State> state_{State::running};
  std::atomic<int> departures_{0};
  std::unique_ptr<std::atomic<bool>[]> departed_;
  std::atomic<bool> reported_{false};
  std::mutex mutex_;
  int rank_ = -1;
  std::string reason_;
};

}  // namespace weft::detail
