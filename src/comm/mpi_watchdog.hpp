#pragma once

// MPI blocks forever if a peer is missing, and its nonblocking collectives are several times slower
// for small data. So calls stay blocking, and a watchdog thread enforces the time limit: it sees
// which call each communicator waits in (WatchedComm), queries the watchdogs of other ranks
// (ControlSocket, since two threads must not use MPI at once), and ends the job with one message.

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

/// One per process, started with the first communicator. Never destroyed: ranks may exit at any
/// time.
class MpiWatchdog {
 public:
  static MpiWatchdog& instance();

  std::shared_ptr<WatchedComm> add(std::uint64_t id, std::vector<int> members, int rank,
                                   WaitView::Kind kind = WaitView::Kind::call);
  void remove(const std::shared_ptr<WatchedComm>& comm) noexcept;

  /// Connects this watchdog with those of the other ranks.
  void connect(std::shared_ptr<ControlSocket> socket);
  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  void enter(Phase phase) { phase_.store(phase, std::memory_order_release); }

  /// Of the ranks that want to report why the job ends at about the same time, returns true on one,
  /// and only once. The others do not print.
  bool may_report() noexcept;

 private:
  MpiWatchdog();
  [[noreturn]] void run();
  void handle(const ControlMessage& message);
  void answer(const ControlMessage& query);
  std::optional<JobFailure> check(double elapsed);
  std::uint64_t begun_on(std::uint64_t comm) const;
  std::shared_ptr<ControlSocket> socket();

  static constexpr int nobody = std::numeric_limits<int>::max();

  const double time_limit_;
  std::atomic<Phase> phase_ = Phase::outside;
  std::atomic<bool> claimed_ = false;
  std::atomic<int> claimed_by_ = nobody;  // the lowest other rank

  std::mutex mutex_;  // guards the rest
  ControlLine line_;
  std::vector<WaitView> views_;
  /// Ids of freed communicators, in which other ranks may still wait, and the number of collective
  /// calls begun on them. The oldest are dropped.
  std::deque<std::pair<std::uint64_t, std::uint64_t>> freed_;
  bool has_dropped_ = false;
};

/// A wait for other ranks outside any communicator of Weft, for the lifetime of the object.
class JobWait {
 public:
  explicit JobWait(const char* call)
      : comm_(MpiWatchdog::instance().add(0, {job_rank()}, 0)), wait_(*comm_, {.name = call}) {}
  ~JobWait() { MpiWatchdog::instance().remove(comm_); }
  JobWait(const JobWait&) = delete;
  JobWait& operator=(const JobWait&) = delete;

 private:
  std::shared_ptr<WatchedComm> comm_;
  WatchedWait wait_;
};

}  // namespace weft::detail
