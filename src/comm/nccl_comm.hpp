#pragma once

// A communicator of NCCL, watched. The only file that includes <nccl.h>; only nccl_*.cpp use it.

#include <weft/core/device.hpp>

#include "core/cuda_device.hpp"

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace weft::detail {

/// NCCL by itself waits for ever for a peer that does not come. Here nothing does: the host's waits
/// for the GPU look at NCCL's own errors and at the clock (WaitGuard), and a thread beside looks
/// after calls that block the host. Either aborts the communicator, which ends its kernels on this
/// rank and tells its peers; every later call says why.
class NcclComm final : public WaitGuard {
 public:
  /// The communicator of all ranks that pass the same id.
  NcclComm(ncclUniqueId id, int rank, int size, Device device);
  /// Takes over a communicator that was split off.
  explicit NcclComm(ncclComm_t comm);
  ~NcclComm() override;

  /// Calls f(communicator), which returns NCCL's code; throws CommError with NCCL's own words.
  template <class F>
  void call(const char* name, F f) {
    leave_if_broken();
    busy_since_.store(now(), std::memory_order_relaxed);
    const ncclResult_t code = f(comm_);
    busy_since_.store(0, std::memory_order_relaxed);
    if (code != ncclSuccess || broken_.load(std::memory_order_relaxed)) [[unlikely]]
      fail(name, code);
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
  [[noreturn]] void fail(const char* name, ncclResult_t code);

  ncclComm_t comm_ = nullptr;
  std::atomic<std::int64_t> busy_since_ = 0;  // nanoseconds; 0 when no call is under way
  std::atomic<bool> broken_ = false;
  mutable std::mutex mutex_;  // guards the rest
  std::string reason_;
  bool timed_out_ = false;
};

}  // namespace weft::detail
