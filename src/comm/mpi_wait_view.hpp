#pragma once

#include "comm/control_socket.hpp"
#include "comm/mpi_watch.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {

/// Why the job must end, and the rank that failed.
struct JobFailure {
  int rank = 0;
  std::string reason;
};

/// The connection to the watchdogs of other ranks; without a socket there is none.
struct ControlLine {
  std::shared_ptr<ControlSocket> socket;
  /// Messages have arrived from ranks of this host, and from ranks of others.
  bool reaches_host = false;
  bool reaches_others = false;

  bool reaches(int rank) const {
    return socket->is_on_this_host(rank) ? reaches_host : reaches_others;
  }
};

/// The watchdog's view of one communicator: how long this rank has waited, and the replies of the
/// ranks it waits for. Time is counted in checks of the watchdog, so that suspending the whole job
/// is not an error.
class WaitView {
 public:
  enum class Kind {
    /// A call, with the time limit.
    call,
    /// The end of the program: no limit while the other ranks respond, since they may compute.
    end_of_program,
  };

  WaitView(std::shared_ptr<WatchedComm> comm, Kind kind) : comm_(std::move(comm)), kind_(kind) {}

  const std::shared_ptr<WatchedComm>& comm() const { return comm_; }
  /// Called `elapsed` seconds after the last check. Queries other ranks if this one waits, and
  /// returns a failure if the wait cannot or may not continue.
  std::optional<JobFailure> check(double elapsed, double time_limit, const ControlLine& line);
  void handle_reply(const ControlMessage& answer);

 private:
  struct Peer {
    bool responded = false;
    double last_response = 0;
    int unanswered = 0;
    Phase phase = Phase::running;
    double left_at = 0;
    std::uint64_t begun = 0;
    std::array<char, 24> call = {};
  };

  /// The wait needs this member, which has not begun the call.
  bool is_missing(int member) const;
  /// The missing members; all others if none is missing, since one may have stopped in the call.
  std::vector<int> awaited() const;
  bool is_unresponsive(int member, const ControlLine& line) const;
  int job_rank(int member) const { return comm_->members()[static_cast<std::size_t>(member)]; }
  Peer& peer(int member) { return peers_[static_cast<std::size_t>(member)]; }
  const Peer& peer(int member) const { return peers_[static_cast<std::size_t>(member)]; }
  int members() const { return static_cast<int>(peers_.size()); }
  void send_queries(const ControlSocket& socket);
  std::optional<int> find_departed() const;
  bool has_waited_too_long(double time_limit, const ControlLine& line) const;
  std::string describe_timeout(double time_limit, const ControlLine& line) const;
  std::string describe(int member, const ControlLine& line) const;

  std::shared_ptr<WatchedComm> comm_;
  Kind kind_;
  WatchedComm::Wait wait_;
  double waited_ = 0;
  double next_query_ = 0;
  std::vector<Peer> peers_;  // by rank in the communicator; empty while not waiting
};

}  // namespace weft::detail
