#pragma once

#include <weft/core/compiler.hpp>

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace weft {

/// Base of all exceptions of Weft. The message states what is wrong, with the values, and what to
/// do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An invalid argument: a shape, an axis, a count, an option.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// Memory or a kernel is not on the device that the call needs, or the device is not available.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A transport failed. The communicator cannot be used afterwards.
class CommError : public Error {
 public:
  using Error::Error;
};

/// Another rank failed, which ends the calls of this one.
class AbortedError : public CommError {
 public:
  AbortedError(int failed_rank, std::string reason);

  int failed_rank() const { return failed_rank_; }
  const std::string& reason() const { return reason_; }

 private:
  int failed_rank_;
  std::string reason_;
};

/// A wait exceeded the time limit (WEFT_TIMEOUT, in seconds).
class TimeoutError : public CommError {
 public:
  using CommError::CommError;
};

/// An error that all ranks of a communicator throw with the same text. The communicator remains
/// usable.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Throws an ArgumentError.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw ArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

/// Checks an argument of the caller. Always on; the message is only formatted on failure, but
/// `args` are always evaluated: where that is slow, test the condition and call refuse().
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    refuse(format, std::forward<Args>(args)...);
}

}  // namespace weft
