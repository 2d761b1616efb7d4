#pragma once

#include "comm/mpi_watch.hpp"
#include "comm/transport.hpp"

#include <memory>
#include <optional>

namespace weft::detail {

/// Makes the watchdogs of the other ranks see when this rank enters and leaves launch.
class WatchedJob {
 public:
  /// Collective over the ranks of an MPI job. `one_host`: all ranks are on one host.
  WatchedJob(Transport& world, bool one_host);
  ~WatchedJob();
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  /// The ranks can agree on which one reports a failure.
  bool is_connected() const { return connected_; }
  /// Call when the launched function has returned: from now on, a wait for this rank is an error.
  /// This rank then waits for the others as long as they respond.
  void leave(bool failed);

 private:
  void connect(Transport& world, bool one_host);

  bool connected_ = false;
  std::shared_ptr<WatchedComm> end_;
  std::optional<WatchedWait> wait_;
};

}  // namespace weft::detail
