#pragma once

// A communicator of NCCL, watched. The only file that includes <nccl.h>; only nccl_*.cpp use it.

#include "core/cuda_device.hpp"

#include "comm/transport.hpp"

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace weft::detail {

/// NCCL by itself waits for ever for a peer that does not come. Here nothing does: making a
/// communicator has a time limit, the host's waits for the GPU look at NCCL's own errors and at the
/// clock (WaitGuard), and a thread beside looks after calls that block the host. Either aborts the
/// communicator, which ends its kernels on this rank; every later call says why. Peers see a closed
/// connection, or the clock.
class NcclComm final : public WaitGuard {
 public:
  /// The communicator of all ranks that pass the same id. Failures of `host` end waits too.
  NcclComm(ncclUniqueId id, const std::shared_ptr<Transport>& host, Device device);
  /// Takes over a communicator that was split off.
  NcclComm(ncclComm_t comm, const NcclComm& parent);
  ~NcclComm() override;

  /// Calls f(communicator), which returns NCCL's code; throws CommError with NCCL's own words.
  template <class F>
  void call(const char* name, F f) {
    leave_if_broken();
    busy_since_.store(now(), std::memory_order_relaxed);
    const ncclResult_t code = f(comm_);
    // From here on the thread beside leaves it alone, unless it has begun to abort it.
    const bool aborting = busy_since_.exchange(0) < 0;
    if (code != ncclSuccess || aborting) [[unlikely]]
      fail(name, code, aborting);
  }

  /// Ends everything under way on this rank.
  void abort(const std::string& reason) noexcept { give_up(reason, false); }
  void check(std::chrono::duration<double> waited) override;
  /// Aborts if a call has blocked this rank's host for too long. From any thread.
  void check_host() noexcept;

 private:
  static std::int64_t now();
  void give_up(const std::string& reason, bool timed_out) noexcept;
  void leave_if_broken() const {
    if (broken_.load(std::memory_order_relaxed)) [[unlikely]]
      throw_reason();
  }
  [[noreturn]] void throw_reason() const;
  [[noreturn]] void fail(const char* name, ncclResult_t code, bool aborting);

  std::shared_ptr<Transport> host_;
  ncclComm_t comm_ = nullptr;
  /// Nanoseconds; 0 when no call is under way, negative when it is being aborted.
  std::atomic<std::int64_t> busy_since_ = 0;
  std::atomic<bool> broken_ = false;
  bool told_ = false;         // to a wait for the GPU
  mutable std::mutex mutex_;  // guards the rest
  std::string reason_;
  bool timed_out_ = false;
};

}  // namespace weft::detail
