#include "comm/thread_job.hpp"

#include <weft/core/error.hpp>

#include "comm/error_texts.hpp"
#include "comm/waiter.hpp"

#include <chrono>
#include <exception>

namespace weft::detail {
namespace {

/// How long other ranks wait for the text of an announced error. Unwinding takes far less, unless
/// the program catches the error and continues.
constexpr std::chrono::duration<double> grace(1.0);

}  // namespace

ThreadJob::ThreadJob(int ranks)
    : ranks_(ranks),
      departed_(std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(ranks))) {
  reason_.reserve(1000);
}

void ThreadJob::announce_failure(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  if (stopped()) return;
  rank_ = rank;
  state_ = State::announced;
}

void ThreadJob::raise(int rank, std::string_view reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (state_ == State::raised) return;
  rank_ = rank;
  try {
    reason_ = reason;
  } catch (const std::bad_alloc&) {
    reason_ = reason.substr(0, reason_.capacity());
  }
  state_ = State::raised;
}

int ThreadJob::failed_rank() {
  const std::lock_guard lock(mutex_);
  return rank_;
}

void ThreadJob::rethrow(int me) {
  reported_ = true;
  Waiter waiter(true);
  while (state_ == State::announced) {
    const int rank = failed_rank();
    // A call in a destructor during unwinding must not replace the propagating error.
    if (rank == me && std::uncaught_exceptions() > 0) {
      throw AbortedError(me, unfinished_call_text);
    }
    if (rank == me || waiter.waited() > grace) raise(rank, unfinished_call_text);
    waiter.pause();
  }
  const std::lock_guard lock(mutex_);
  throw AbortedError(rank_, reason_);
}

void ThreadJob::depart(int rank) noexcept {
  departed_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
  departures_.fetch_add(1, std::memory_order_release);
}

}  // namespace weft::detail
