#include "comm/watched_job.hpp"

#include <fmt/core.h>

#include "comm/control_socket.hpp"
#include "comm/gather_objects.hpp"
#include "comm/mpi_watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::detail {
namespace {

/// Id of the communicator whose only collective call is the end of launch.
constexpr std::uint64_t end_id = 1;

#if defined(__GLIBC__)

/// Some launchers do not treat a process that calls exit(0) as failed.
void report_exit(int code, void* process) {
  // A forked child is not part of the job.
  if (getpid() != *static_cast<pid_t*>(process)) return;
  if (MpiWatchdog::instance().phase() != Phase::running || job_is_ending()) return;
  const std::string reason = fmt::format("the program called exit({}) inside launch", code);
  end_job(job_rank(), reason.c_str(), code == 0 ? 1 : code);
}

void report_exits() {
  static pid_t process = 0;
  if (process == 0) on_exit(report_exit, &process);
  process = getpid();
}

#else

/// Other C libraries do not pass the exit code to handlers.
void report_exits() {}

#endif

}  // namespace

WatchedJob::WatchedJob(Transport& world, bool one_host) {
  if (world.size() > 1) connect(world, one_host);
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  end_ = MpiWatchdog::instance().add(end_id, std::move(ranks), world.rank(),
                                     WaitView::Kind::end_of_program);
  MpiWatchdog::instance().enter(Phase::running);
  report_exits();
}

void WatchedJob::connect(Transport& world, bool one_host) {
  std::shared_ptr<ControlSocket> socket;
  ControlAddress mine;
  try {
    socket = std::make_shared<ControlSocket>(one_host);
    mine = socket->address();
  } catch (const std::runtime_error&) {
    // No socket, or no random key. The time limit of calls still holds, but missing ranks are not
    // identified, and the wait at the end of the program is not limited.
    mine.port = 0;
  }
  std::vector<ControlAddress> all = gather_objects(world, mine);
  connected_ = std::all_of(all.begin(), all.end(),
                           [](const ControlAddress& each) { return each.port != 0; });
  if (!connected_) return;
  socket->connect(world.rank(), std::move(all));
  MpiWatchdog::instance().connect(socket);
  // Find out whether datagrams arrive before a rank is missing.
  for (const int neighbour : {world.rank() + 1, world.rank() - 1}) {
    ControlMessage query;
    query.kind = ControlKind::query;
    socket->send((neighbour + world.size()) % world.size(), query);
  }
}

WatchedJob::~WatchedJob() {
  wait_.reset();
  MpiWatchdog::instance().remove(end_);
  // All ranks have left. The program may continue with its own communicators.
  MpiWatchdog::instance().enter(Phase::outside);
}

void WatchedJob::leave(bool failed) {
  const WatchedCollective call(*end_, "launch", false);
  MpiWatchdog::instance().enter(failed ? Phase::failed : Phase::left);
  if (!failed) wait_.emplace(*end_, call.call());
}

}  // namespace weft::detail
