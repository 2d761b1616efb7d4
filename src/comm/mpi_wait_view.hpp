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

/// Why the job must end, and which of its ranks is to blame.
struct Verdict {
  int rank = 0;
  std::string reason;
};

/// What the watchdog has to talk to other ranks; nothing if they cannot be reached beside MPI.
struct ControlLine {
  std::shared_ptr<ControlSocket> socket;
  /// Ranks have been heard: of this host, and of others.
  bool reaches_host = false;
  bool reaches_others = false;

  bool reaches(int rank) const {
    return socket->is_on_this_host(rank) ? reaches_host : reaches_others;
  }
};

/// The watchdog's view of one communicator: since when this rank waits, and what those told that it
/// waits for. Time is counted in looks of the watchdog, so that a job may be suspended as a whole.
class WaitView {
 public:
  enum class Kind {
    /// Waits at most for the time limit.
    call,
    /// Waits for as long as ranks answer: they may compute.
    end_of_program,
  };

  WaitView(std::shared_ptr<WatchedComm> comm, Kind kind) : comm_(std::move(comm)), kind_(kind) {}

  const std::shared_ptr<WatchedComm>& comm() const { return comm_; }
  /// `elapsed` seconds after the last one. Asks the others where they are if this rank waits, and
  /// says so if it has waited in vain.
  std::optional<Verdict> look(double elapsed, double time_limit, const ControlLine& line);
  void hear(const ControlMessage& answer);

 private:
  struct Peer {
    bool heard = false;
    double heard_at = 0;
    int unanswered = 0;
    Phase phase = Phase::running;
    double left_at = 0;
    std::uint64_t begun = 0;
    std::array<char, 24> call = {};
  };

  /// The member is needed and has not come.
  bool is_missing(int member) const;
  /// Those members; all others if none is missing, since one may have stopped in the call.
  std::vector<int> awaited() const;
  bool has_fallen_silent(int member, const ControlLine& line) const;
  int job_rank(int member) const { return comm_->members()[static_cast<std::size_t>(member)]; }
  Peer& peer(int member) { return peers_[static_cast<std::size_t>(member)]; }
  const Peer& peer(int member) const { return peers_[static_cast<std::size_t>(member)]; }
  int members() const { return static_cast<int>(peers_.size()); }
  void ask(const ControlSocket& socket);
  std::optional<int> find_departed() const;
  bool has_waited_too_long(double time_limit, const ControlLine& line) const;
  std::string describe_timeout(double time_limit, const ControlLine& line) const;
  std::string describe(int member, const ControlLine& line) const;

  std::shared_ptr<WatchedComm> comm_;
  Kind kind_;
  WatchedComm::Wait wait_;
  double waited_ = 0;
  double next_question_ = 0;
  std::vector<Peer> peers_;  // while waiting, by their ranks in the communicator
};

}  // namespace weft::detail
