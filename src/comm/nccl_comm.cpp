#include "comm/nccl_comm.hpp"

#include <weft/core/error.hpp>
#include <weft/core/format.hpp>
#include <weft/core/stream.hpp>

#include "comm/nccl_watchdog.hpp"
#include "comm/waiter.hpp"

#include <chrono>
#include <exception>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

std::string timeout_text(const char* what) {
  return fmt::format("{} for {:.0f} s, which is the limit set by WEFT_TIMEOUT; a peer may be lost",
                     what, wait_limit().count());
}

/// ncclCommInitRank with a time limit. It blocks until all ranks have called it, without a
/// communicator to abort; a nonblocking communicator would make every later call switch threads. So
/// a separate thread makes the call, and is abandoned if a rank is missing.
ncclComm_t init_rank(ncclUniqueId id, Transport& host, Device device) {
  struct Result {
    ncclComm_t comm = nullptr;
    std::string error;
  };
  std::packaged_task<Result()> task([id, device, size = host.size(), rank = host.rank()] {
    Result result;
    if (const cudaError_t code = cudaSetDevice(device.ordinal); code != cudaSuccess) {
      result.error = fmt::format("cudaSetDevice: {}", cudaGetErrorString(code));
      return result;
    }
    const ncclResult_t code = ncclCommInitRank(&result.comm, size, id, rank);
    if (code != ncclSuccess) {
      result.error = fmt::format("ncclCommInitRank on {}: {} ({})", device,
                                 ncclGetErrorString(code), ncclGetLastError(nullptr));
    }
    return result;
  });
  std::future<Result> future = task.get_future();
  std::thread(std::move(task)).detach();
  const auto deadline = Clock::now() + wait_limit();
  while (future.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    host.throw_if_failed();
    if (Clock::now() > deadline) throw TimeoutError(timeout_text("ncclCommInitRank blocked"));
  }
  const Result result = future.get();
  if (!result.error.empty()) throw CommError(result.error);
  return result.comm;
}

}  // namespace

NcclComm::NcclComm(ncclUniqueId id, const std::shared_ptr<Transport>& host, Device device)
    : host_(host) {
  Stream::current(device);  // makes the GPU current
  comm_ = init_rank(id, *host, device);
  NcclWatchdog::instance().add(this);
}

NcclComm::NcclComm(ncclComm_t comm, const NcclComm& parent) : host_(parent.host_), comm_(comm) {
  NcclWatchdog::instance().add(this);
}

NcclComm::~NcclComm() {
  NcclWatchdog::instance().remove(this);
  if (broken_) return;
  // ncclCommDestroy waits for calls in progress, which may never end during unwinding.
  if (std::uncaught_exceptions() > 0) {
    ncclCommAbort(comm_);
  } else {
    ncclCommDestroy(comm_);
  }
}

std::int64_t NcclComm::now() { return Clock::now().time_since_epoch().count(); }

void NcclComm::throw_reason() const {
  const std::lock_guard lock(mutex_);
  if (timed_out_) throw TimeoutError(reason_);
  throw CommError(reason_);
}

void NcclComm::fail(const char* name, ncclResult_t code, bool aborting) {
  Waiter waiter(true);
  while (aborting && !broken_) {
    // The abort itself may block; the watchdog has set the reason before it.
    if (waiter.waited() > wait_limit()) throw_reason();
    waiter.pause();
  }
  leave_if_broken();
  const std::string text =
      fmt::format("{}: {} ({})", name, ncclGetErrorString(code), ncclGetLastError(comm_));
  if (code == ncclInvalidArgument || code == ncclInvalidUsage) throw CommError(text);
  abort(text);
  throw_reason();
}

void NcclComm::abort_with(const std::string& reason, bool timed_out) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (broken_ || !reason_.empty()) return;
    try {
      reason_ = reason;
    } catch (const std::bad_alloc&) {
      // Without memory there is no reason text.
    }
    timed_out_ = timed_out;
  }
  ncclCommAbort(comm_);
  broken_ = true;
}

void NcclComm::check(std::chrono::duration<double> waited) {
  // Throw only once, so that the caller can still save data from the GPU.
  if (broken_ && std::exchange(reported_, true)) return;
  leave_if_broken();
  host_->throw_if_failed();
  ncclResult_t state = ncclSuccess;
  if (ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state != ncclSuccess &&
      state != ncclInProgress) {
    abort(fmt::format("NCCL: {} ({}); a peer may be lost", ncclGetErrorString(state),
                      ncclGetLastError(comm_)));
  } else if (waited > wait_limit()) {
    abort_with(timeout_text("waited for other ranks"), true);
  }
  if (broken_) reported_ = true;
  leave_if_broken();
}

void NcclComm::check_host() noexcept {
  std::int64_t since = busy_since_.load(std::memory_order_relaxed);
  if (since <= 0 || Clock::duration(now() - since) < wait_limit()) return;
  if (!busy_since_.compare_exchange_strong(since, -1)) return;
  abort_with(timeout_text("an NCCL call blocked"), true);
}

}  // namespace weft::detail
