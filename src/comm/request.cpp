#include <weft/comm/request.hpp>

#include "comm/comm_state.hpp"
#include "comm/reduction.hpp"

#include <exception>

namespace weft {

void detail::Staging::finish() {
  if (average.count > 0) divide(average, ranks);
  copy_bytes(target.data, target.where, out.data(), Device::cpu(),
             static_cast<std::size_t>(target.bytes()));
}

Request::Request() = default;
Request::Request(Request&&) noexcept = default;

Request::Request(std::shared_ptr<detail::CommState> state, CallKind kind, Ticket ticket,
                 std::unique_ptr<detail::Staging> staging)
    : state_(std::move(state)), kind_(kind), ticket_(ticket), staging_(std::move(staging)) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(kind_, other.kind_);
  std::swap(ticket_, other.ticket_);
  std::swap(staging_, other.staging_);
  return *this;
}

Request::~Request() {
  if (state_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) {
    state_->transport->abandon(ticket_);
    return;
  }
  try {
    wait();
  } catch (const std::exception&) {
    // A destructor cannot tell. Who wants to know waits.
  }
}

void Request::complete() {
  state_ = nullptr;
  if (staging_ != nullptr) staging_->finish();
  staging_ = nullptr;
}

bool Request::test() {
  if (state_ == nullptr) return true;
  if (!state_->transport->test(ticket_)) return false;
  complete();
  return true;
}

void Request::wait() {
  if (state_ == nullptr) return;
  // Held here, since the timer needs it until the end.
  const auto state = std::move(state_);
  state_ = nullptr;
  const detail::CallTimer timer(*state, kind_);
  state->transport->wait(ticket_);
  complete();
}

}  // namespace weft
