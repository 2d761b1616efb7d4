#pragma once

#include <mutex>
#include <vector>

namespace weft::detail {

class NcclComm;

/// A thread that aborts communicators in which an NCCL call blocks the host for too long. There is
/// one for all communicators of the process; it is never destroyed, since communicators may outlive
/// any static object.
class NcclWatchdog {
 public:
  static NcclWatchdog& instance();

  void add(NcclComm* comm);
  void remove(NcclComm* comm);

 private:
  NcclWatchdog();
  [[noreturn]] void run();

  std::mutex mutex_;
  std::vector<NcclComm*> comms_;
};

}  // namespace weft::detail
