#pragma once

#include "comm/mpi_watch.hpp"
#include "comm/transport.hpp"

#include <memory>
#include <optional>

namespace weft::detail {

/// A rank's time in launch, as the watchdogs of the other ranks see it.
class WatchedJob {
 public:
  /// Collective over the transport of all ranks of an MPI job; `one_host` if they all are on one.
  WatchedJob(Transport& world, bool one_host);
  ~WatchedJob();
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  /// The ranks can settle among them which one reports a failure.
  bool is_connected() const { return connected_; }
  /// Call when the program's function has returned: from now on, a wait for this rank is an error.
  /// This rank then waits for the others as long as they answer.
  void leave(bool failed);

 private:
  void connect(Transport& world, bool one_host);

  bool connected_ = false;
  std::shared_ptr<WatchedComm> end_;
  std::optional<WatchedWait> wait_;
};

}  // namespace weft::detail
