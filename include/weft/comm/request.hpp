#pragma once

#include <exception>

namespace weft {
namespace detail {
struct CommAccess;
struct CommState;
struct PendingCall;
}  // namespace detail

/// A nonblocking call that may still be running. The destructor waits for it, so that the memory it
/// uses may be released afterwards; an error of that wait is thrown by the next call on the
/// communicator, or by launch at the end. When an exception destroys the request, it does not wait:
/// the call is abandoned, which aborts the communicator on all ranks.
class [[nodiscard]] Request {
 public:
  Request() = default;
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  ~Request();

  /// True if the call is complete.
  bool test();
  /// Returns when the call is complete; throws its error.
  void wait();

 private:
  friend struct detail::CommAccess;
  explicit Request(detail::PendingCall& call) : call_(&call) {}

  detail::PendingCall* call_ = nullptr;  // null when complete
  /// At construction: more exceptions in the destructor mean that one of them destroys the request.
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace weft
