#include <weft/comm/request.hpp>

#include "comm/comm_state.hpp"
#include "comm/memory_ops.hpp"

#include <exception>

namespace weft {

void detail::Staging::finish() {
  if (average.count > 0) divide(average, ranks);
  out.deliver(target.data, target.where, static_cast<std::size_t>(target.bytes()));
}

Request::Request() = default;
Request::Request(Request&&) noexcept = default;

Request::Request(std::shared_ptr<detail::CommState> state, Transport& transport, CallKind kind,
                 Ticket ticket, std::unique_ptr<detail::Staging> staging)
    : state_(std::move(state)),
      transport_(&transport),
      kind_(kind),
      ticket_(ticket),
      staging_(std::move(staging)) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(transport_, other.transport_);
  std::swap(kind_, other.kind_);
  std::swap(ticket_, other.ticket_);
  std::swap(staging_, other.staging_);
  return *this;
}

Request::~Request() {
  if (state_ == nullptr) return;
  const auto held = state_->held;
  const bool unwinding = std::uncaught_exceptions() > 0;
  try {
    if (!unwinding) {
      wait();
    } else if (!transport_->test(ticket_)) {
      // This rank will not do its part in what its peers wait for.
      held->hold_unfinished(kind_);
      transport_->abandon(ticket_);
    }
  } catch (...) {
    // A destructor cannot tell. While another error is on its way, this one is not news.
    if (!unwinding) held->hold(std::current_exception());
  }
}

void Request::complete() {
  state_ = nullptr;
  if (staging_ != nullptr) staging_->finish();
  staging_ = nullptr;
}

bool Request::test() {
  if (state_ == nullptr) return true;
  if (!transport_->test(ticket_)) return false;
  complete();
  return true;
}

void Request::wait() {
  if (state_ == nullptr) return;
  // Held here, since the timer needs it until the end.
  const auto state = std::move(state_);
  state_ = nullptr;
  const detail::CallTimer timer(*state, kind_);
  transport_->wait(ticket_);
  complete();
}

}  // namespace weft
