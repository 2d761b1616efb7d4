#include <weft/comm/request.hpp>

#include "comm/issue_call.hpp"
#include "comm/memory_ops.hpp"

#include <exception>
#include <utility>

namespace weft {
namespace {

/// Returns the record of a call to its communicator when the call has ended, with an error or not.
class PendingCallRelease {
 public:
  explicit PendingCallRelease(detail::PendingCall& call) : state_(call.state), call_(call) {}
  ~PendingCallRelease() {
    call_.staging = nullptr;
    call_.state = nullptr;
    call_.next_idle = std::exchange(state_->idle_calls, &call_);
  }
  PendingCallRelease(const PendingCallRelease&) = delete;
  PendingCallRelease& operator=(const PendingCallRelease&) = delete;

 private:
  std::shared_ptr<detail::CommState> state_;
  detail::PendingCall& call_;
};

}  // namespace

void detail::Staging::finish() {
  if (average.count > 0) divide(average, ranks);
  out.deliver(target.data, target.where, static_cast<std::size_t>(target.bytes()));
}

Request::Request(Request&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(call_, other.call_);
  return *this;
}

Request::~Request() {
  if (call_ == nullptr) return;
  const auto held = call_->state->held;
  if (std::uncaught_exceptions() <= exceptions_) {
    try {
      wait();
    } catch (...) {
      held->hold(std::current_exception());
    }
    return;
  }
  try {
    if (test()) return;
    // This rank will not do its share of the call.
    held->hold_unfinished(call_->kind);
    call_->transport->abandon(call_->ticket);
  } catch (...) {
    // The exception that destroys this request takes precedence.
  }
  if (call_ == nullptr) return;
  const PendingCallRelease release(*call_);
}

bool Request::test() {
  if (call_ == nullptr) return true;
  if (!call_->transport->test(call_->ticket)) return false;
  detail::PendingCall& call = *std::exchange(call_, nullptr);
  const PendingCallRelease release(call);
  if (call.staging != nullptr) call.staging->finish();
  return true;
}

void Request::wait() {
  if (call_ == nullptr) return;
  detail::PendingCall& call = *std::exchange(call_, nullptr);
  const PendingCallRelease release(call);
  const detail::CallTimer timer(*call.state, call.kind);
  call.transport->wait(call.ticket);
  if (call.staging != nullptr) call.staging->finish();
}

}  // namespace weft
