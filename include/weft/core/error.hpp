#pragma once

#include <weft/core/compiler.hpp>

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace weft {

/// Base of everything Weft throws. The message says what was wrong, with the values seen, and what
/// to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller passed something that cannot be right: a shape, an axis, a count, an option.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// Memory or a kernel is not where the call needs it, or the device does not exist in this build.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A transport failed. The communicator cannot be used any more.
class CommError : public Error {
 public:
  using Error::Error;
};

/// Another rank gave up, so that this one must leave its call too.
class AbortedError : public CommError {
 public:
  AbortedError(int failed_rank, std::string reason);

  int failed_rank() const { return failed_rank_; }
  const std::string& reason() const { return reason_; }

 private:
  int failed_rank_;
  std::string reason_;
};

/// A wait ran past the time limit of the communicator (WEFT_TIMEOUT, in seconds).
class TimeoutError : public CommError {
 public:
  using CommError::CommError;
};

/// A complaint that every rank of a communicator has heard: all ranks throw it, with the same text,
/// and the communicator remains usable.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Refuses a caller's argument.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw ArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

/// Checks a caller's argument. Always on; the message is only formatted on failure. (But `args` are
/// evaluated: where a call must be fast and they are not, test and refuse().)
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    refuse(format, std::forward<Args>(args)...);
}

}  // namespace weft
