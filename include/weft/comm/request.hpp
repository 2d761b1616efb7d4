#pragma once

#include <weft/comm/stats.hpp>
#include <weft/comm/transport.hpp>

#include <memory>

namespace weft {
namespace detail {
struct CommState;
struct Staging;
}  // namespace detail

/// A call that was started and may still be running. Waits when destroyed, so that the memory it
/// works on may be released after it. What goes wrong there is thrown by the next call on its
/// communicator, or in the end by launch. Where it is destroyed by an exception it does not wait:
/// the call is given up, which ends the communicator on all ranks.
class [[nodiscard]] Request {
 public:
  Request();
  /// Made by Comm.
  Request(std::shared_ptr<detail::CommState> state, Transport& transport, CallKind kind,
          Ticket ticket, std::unique_ptr<detail::Staging> staging);
  Request(Request&&) noexcept;
  Request& operator=(Request&& other) noexcept;
  ~Request();

  /// True when the call is complete.
  bool test();
  /// Returns when the call is complete; throws what went wrong in it.
  void wait();

 private:
  void complete();

  std::shared_ptr<detail::CommState> state_;  // null when complete
  Transport* transport_ = nullptr;            // one of the state's
  CallKind kind_ = CallKind::barrier;
  Ticket ticket_;
  std::unique_ptr<detail::Staging> staging_;
};

}  // namespace weft
