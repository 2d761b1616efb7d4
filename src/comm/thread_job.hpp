#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::detail {

/// What the thread ranks of a job know of each other, in whatever team they talk: the first failure
/// and who has left. A rank that waits in one team must hear of both from another.
///
/// Nothing here allocates after construction except the exception that rethrow() throws: failures
/// are reported when memory has run out, too.
class ThreadJob {
 public:
  explicit ThreadJob(int ranks);

  int ranks() const { return ranks_; }

  /// A rank has failed or announced that it will: nobody touches memory of other ranks any more.
  bool stopped() const { return state_.load() != State::running; }
  /// The rank lets go of calls because of an error on its way out, whose text only raise() will
  /// know. Others stop at once, and wait a moment for the text.
  void announce_failure(int rank) noexcept;
  /// The first one counts.
  void raise(int rank, std::string_view reason) noexcept;
  /// Throws the failure as an AbortedError on rank `me`. Only when stopped.
  [[noreturn]] void rethrow(int me);
  /// The same, when all ranks have left, if none of them was told.
  void throw_if_unheard() {
    if (stopped() && !heard_) rethrow(-1);
  }

  /// The rank makes no more calls.
  void depart(int rank) noexcept;
  bool anyone_departed() const { return departures_.load(std::memory_order_acquire) > 0; }
  /// If true, everything the rank did before it left is visible to the caller (acquire).
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
  std::atomic<bool> heard_{false};
  std::mutex mutex_;
  int rank_ = -1;
  std::string reason_;
};

}  // namespace weft::detail
