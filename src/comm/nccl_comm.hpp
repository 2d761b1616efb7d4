#pragma once

// An NCCL communicator with a time limit. The only file that includes <nccl.h>; only nccl_*.cpp use
// it.

#include "core/cuda_device.hpp"

#include "comm/transport.hpp"

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace weft::detail {

/// NCCL blocks forever if a peer disappears; this class bounds every wait. Creating a communicator
/// has a time limit, waits of the host for the GPU check NCCL's errors and the time (WaitGuard),
/// and NcclWatchdog checks calls that block the host. On failure the communicator is aborted, which
/// ends its kernels on this rank; later calls throw the reason. Peers see a closed connection or
/// time out.
class NcclComm final : public WaitGuard {
 public:
  /// The communicator of all ranks that pass the same id. Failures of `host` end waits too.
  NcclComm(ncclUniqueId id, const std::shared_ptr<Transport>& host, Device device);
  /// Takes ownership of a communicator that was split off.
  NcclComm(ncclComm_t comm, const NcclComm& parent);
  ~NcclComm() override;

  /// Calls f(communicator), which returns NCCL's code; throws CommError with NCCL's error text.
  template <class F>
  void call(const char* name, F f) {
    leave_if_broken();
    busy_since_.store(now(), std::memory_order_relaxed);
    const ncclResult_t code = f(comm_);
    // From here on the watchdog does not abort it, unless it has already begun to.
    const bool aborting = busy_since_.exchange(0) < 0;
    if (code != ncclSuccess || aborting) [[unlikely]]
      fail(name, code, aborting);
  }

  /// Ends all calls in progress on this rank.
  void abort(const std::string& reason) noexcept { abort_with(reason, false); }
  void check(std::chrono::duration<double> waited) override;
  /// Aborts if a call has blocked the host for too long. May be called from any thread.
  void check_host() noexcept;

 private:
  static std::int64_t now();
  void abort_with(const std::string& reason, bool timed_out) noexcept;
  void leave_if_broken() const {
    if (broken_.load(std::memory_order_relaxed)) [[unlikely]]
      throw_reason();
  }
  [[noreturn]] void throw_reason() const;
  [[noreturn]] void fail(const char* name, ncclResult_t code, bool aborting);

  std::shared_ptr<Transport> host_;
  ncclComm_t comm_ = nullptr;
  /// Nanoseconds; 0 without a call in progress, negative while it is being aborted.
  std::atomic<std::int64_t> busy_since_ = 0;
  std::atomic<bool> broken_ = false;
  bool told_ = false;         // a wait for the GPU has thrown the reason
  mutable std::mutex mutex_;  // guards the rest
  std::string reason_;
  bool timed_out_ = false;
};

}  // namespace weft::detail
