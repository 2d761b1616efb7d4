#pragma once

// MPI blocks for ever if a peer does not come, and its non-blocking collectives are several times
// as slow for small data. So blocking calls stay what they are, and a thread beside them keeps the
// time limit: it sees what each communicator waits in (WatchedComm), asks the watchdogs of other
// ranks where they are (ControlSocket, since MPI may not be used by two threads at once), and ends
// the job with one message.

#include "comm/mpi_native.hpp"
#include "comm/mpi_wait_view.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {

/// One for the process, from the first communicator on. Never destroyed: ranks may leave in any
/// way.
class MpiWatchdog {
 public:
  static MpiWatchdog& instance();

  std::shared_ptr<WatchedComm> add(std::uint64_t id, std::vector<int> members, int rank,
                                   WaitView::Kind kind = WaitView::Kind::call);
  void remove(const std::shared_ptr<WatchedComm>& comm) noexcept;

  /// Lets this watchdog talk to those of the other ranks.
  void connect(std::shared_ptr<ControlSocket> socket);
  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  void enter(Phase phase) { phase_.store(phase, std::memory_order_release); }

  /// True on one of those ranks that want to tell why the job ends, at about the same time; and
  /// there only once. The others stay silent, and will be ended.
  bool may_report() noexcept;

 private:
  MpiWatchdog();
  [[noreturn]] void run();
  void handle(const ControlMessage& message);
  void answer(const ControlMessage& question);
  std::optional<Verdict> look(double elapsed);
  std::uint64_t begun_on(std::uint64_t comm) const;
  std::shared_ptr<ControlSocket> socket();

  static constexpr int nobody = std::numeric_limits<int>::max();

  const double time_limit_;
  std::atomic<Phase> phase_ = Phase::outside;
  std::atomic<bool> claimed_ = false;
  std::atomic<int> claimed_by_ = nobody;  // the lowest of the others

  std::mutex mutex_;  // guards the rest
  ControlLine line_;
  std::vector<WaitView> views_;
  /// Communicators that have been freed here may still be waited in elsewhere: their ids, and how
  /// many collective calls were begun on them. The oldest are forgotten.
  std::deque<std::pair<std::uint64_t, std::uint64_t>> freed_;
  bool has_forgotten_ = false;
};

/// A wait for other ranks on no communicator of ours, for the life of the object.
class LoneWait {
 public:
  explicit LoneWait(const char* call)
      : comm_(MpiWatchdog::instance().add(0, {job_rank()}, 0)), wait_(*comm_, {.name = call}) {}
  ~LoneWait() { MpiWatchdog::instance().remove(comm_); }
  LoneWait(const LoneWait&) = delete;
  LoneWait& operator=(const LoneWait&) = delete;

 private:
  std::shared_ptr<WatchedComm> comm_;
  WatchedWait wait_;
};

}  // namespace weft::detail
