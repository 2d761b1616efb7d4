#pragma once

#include <weft/comm/stats.hpp>

#include "comm/transport.hpp"

#include <exception>
#include <optional>

namespace weft::detail {

/// What went wrong in a Request while it was destroyed, and could not be thrown there. One for a
/// communicator and all that were split from it: each of their calls throws it from then on.
class HeldError {
 public:
  void hold(std::exception_ptr error) noexcept {
    if (any()) return;
    error_ = std::move(error);
    reported_ = false;
  }
  /// An error was on its way and the call was not complete. Throws nothing unless the program goes
  /// on all the same.
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
  /// The same, unless a call has thrown it.
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
