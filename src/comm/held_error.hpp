#pragma once

#include <weft/comm/stats.hpp>

#include "comm/transport.hpp"

#include <exception>
#include <optional>

namespace weft::detail {

/// The error of a Request's destructor, which could not throw it. A communicator and all that were
/// split from it share one: their later calls throw it.
class HeldError {
 public:
  void hold(std::exception_ptr error) noexcept {
    if (any()) return;
    error_ = std::move(error);
    reported_ = false;
  }
  /// An exception abandoned an incomplete call. It is an error only if the program makes another
  /// call.
  void hold_unfinished(CallKind kind) noexcept {
    if (any()) return;
    unfinished_ = kind;
    reported_ = false;
  }

  bool any() const { return error_ != nullptr || unfinished_; }
  void throw_if_any(Transport& transport) {
    if (any()) [[unlikely]]
      rethrow(transport);
  }
  /// Throws the error unless a call has thrown it.
  void throw_if_unreported(Transport& transport) {
    if (!reported_) rethrow(transport);
  }

 private:
  [[noreturn]] void rethrow(Transport& transport);

  std::exception_ptr error_;
  std::optional<CallKind> unfinished_;
  bool reported_ = true;
};

}  // namespace weft::detail
