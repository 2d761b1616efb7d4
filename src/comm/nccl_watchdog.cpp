#include "comm/nccl_watchdog.hpp"

#include "comm/nccl_comm.hpp"

#include <chrono>
#include <thread>

namespace weft::detail {

NcclWatchdog& NcclWatchdog::instance() {
  static auto& watchdog = *new NcclWatchdog;
  return watchdog;
}

NcclWatchdog::NcclWatchdog() {
  std::thread([this] { run(); }).detach();
}

void NcclWatchdog::add(NcclComm* comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(comm);
}

void NcclWatchdog::remove(NcclComm* comm) {
  const std::lock_guard lock(mutex_);
  std::erase(comms_, comm);
}

void NcclWatchdog::run() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const std::lock_guard lock(mutex_);
    for (NcclComm* comm : comms_) comm->check_host();
  }
}

}  // namespace weft::detail
