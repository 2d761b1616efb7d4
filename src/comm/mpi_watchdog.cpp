#include "comm/mpi_watchdog.hpp"

#include "comm/mpi_native.hpp"
#include "comm/waiter.hpp"

#include <csignal>

#include <algorithm>
#include <chrono>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

constexpr auto period = 100ms;
/// Time in which simultaneous claims are exchanged.
constexpr auto claim_time = 150ms;
constexpr std::size_t max_freed = 4096;
constexpr std::uint64_t all_begun = std::numeric_limits<std::uint64_t>::max();

/// Blocks all signals for its lifetime: threads started meanwhile never run signal handlers of the
/// program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

MpiWatchdog& MpiWatchdog::instance() {
  static auto& watchdog = *new MpiWatchdog;
  return watchdog;
}

MpiWatchdog::MpiWatchdog() : time_limit_(wait_limit().count()) {
  const SignalsBlocked blocked;
  try {
    std::thread thread([this] { run(); });
    thread.detach();
  } catch (const std::system_error&) {
    // No thread can be started: there is no time limit, but failures are still reported.
  }
}

std::shared_ptr<WatchedComm> MpiWatchdog::add(std::uint64_t id, std::vector<int> members, int rank,
                                              WaitView::Kind kind) {
  auto comm = std::make_shared<WatchedComm>(id, std::move(members), rank);
  const std::lock_guard lock(mutex_);
  views_.emplace_back(comm, kind);
  return comm;
}

void MpiWatchdog::remove(const std::shared_ptr<WatchedComm>& comm) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(views_, [&](const WaitView& view) { return view.comm() == comm; });
  try {
    freed_.emplace_back(comm->id(), comm->begun());
    if (freed_.size() <= max_freed) return;
    freed_.pop_front();
  } catch (const std::bad_alloc&) {
    // This one is dropped at once.
  }
  has_dropped_ = true;
}

void MpiWatchdog::connect(std::shared_ptr<ControlSocket> socket) {
  const std::lock_guard lock(mutex_);
  line_ = {.socket = std::move(socket)};
}

std::shared_ptr<ControlSocket> MpiWatchdog::socket() {
  const std::lock_guard lock(mutex_);
  return line_.socket;
}

void MpiWatchdog::run() {
  auto last = Clock::now();
  for (;;) {
    const auto until = last + period;
    ControlMessage message;
    const auto line = socket();
    const auto time = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (line == nullptr) {
      std::this_thread::sleep_for(time);
    } else if (line->receive(message, std::max(time, 0ms))) {
      handle(message);
    }
    const auto now = Clock::now();
    if (now < until) continue;
    // A longer interval means that the process was suspended.
    const std::chrono::duration<double> elapsed = std::min<Clock::duration>(now - last, 3 * period);
    last = now;
    const auto failure = check(elapsed.count());
    if (!failure) continue;
    // Ranks that cannot agree on who reports do not all report at once.
    if (line == nullptr) std::this_thread::sleep_for(std::min(job_rank() * 100ms, 1000ms));
    end_job(failure->rank, failure->reason.c_str());
  }
}

std::optional<JobFailure> MpiWatchdog::check(double elapsed) {
  const std::lock_guard lock(mutex_);
  try {
    for (WaitView& view : views_) {
      auto failure = view.check(elapsed, time_limit_, line_);
      if (failure) return failure;
    }
  } catch (const std::bad_alloc&) {
    // Retried at the next check.
  }
  return std::nullopt;
}

void MpiWatchdog::handle(const ControlMessage& message) {
  const std::lock_guard lock(mutex_);
  (line_.socket->is_on_this_host(message.from) ? line_.reaches_host : line_.reaches_others) = true;
  switch (message.kind) {
    case ControlKind::query: answer(message); break;
    case ControlKind::reply:
      for (WaitView& view : views_) {
        if (view.comm()->id() == message.comm) view.handle_reply(message);
      }
      break;
    case ControlKind::claim: claimed_by_ = std::min<int>(claimed_by_, message.from); break;
  }
}

std::uint64_t MpiWatchdog::begun_on(std::uint64_t comm) const {
  for (const WaitView& view : views_) {
    if (view.comm()->id() == comm) return view.comm()->begun();
  }
  for (const auto& [id, begun] : freed_) {
    if (id == comm) return begun;
  }
  return has_dropped_ ? all_begun : 0;
}

void MpiWatchdog::answer(const ControlMessage& query) {
  ControlMessage answer;
  answer.kind = ControlKind::reply;
  answer.comm = query.comm;
  answer.member = query.member;
  // In this order: a rank that has left begins no more calls.
  answer.phase = phase();
  answer.begun = begun_on(query.comm);
  for (const WaitView& view : views_) {
    const WatchedComm::Wait wait = view.comm()->wait();
    if (wait.number % 2 == 0) continue;
    const std::string_view call = wait.call.name;
    call.copy(answer.call.data(), answer.call.size() - 1);
    break;
  }
  line_.socket->send(query.from, answer);
}

bool MpiWatchdog::may_report() noexcept {
  const auto line = socket();
  if (claimed_.exchange(true)) return false;
  if (line == nullptr) return true;
  // An earlier claimant may have printed already, so read all pending claims first.
  for (ControlMessage message; line->receive(message, 0ms);) handle(message);
  if (claimed_by_ != nobody) return false;
  ControlMessage claim;
  claim.kind = ControlKind::claim;
  for (int rank = 0; rank < line->size(); ++rank) {
    if (rank != line->rank()) line->send(rank, claim);
  }
  // Of simultaneous claims, the lowest rank wins. This may be the thread that receives them.
  const auto until = Clock::now() + claim_time;
  for (auto now = Clock::now(); now < until; now = Clock::now()) {
    ControlMessage message;
    if (line->receive(message, std::chrono::ceil<std::chrono::milliseconds>(until - now))) {
      handle(message);
    }
  }
  return claimed_by_ > line->rank();
}

}  // namespace weft::detail
