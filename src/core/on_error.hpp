#pragma once

#include <exception>
#include <utility>

namespace weft::detail {

/// Calls a function if an exception destroys this object. Other than in a catch block, the
/// destructors of requests that the function destroys then see the exception, and do not wait.
template <class F>
class OnError {
 public:
  explicit OnError(F f) : f_(std::move(f)) {}
  ~OnError() {
    if (std::uncaught_exceptions() > before_) f_();
  }
  OnError(const OnError&) = delete;
  OnError& operator=(const OnError&) = delete;

 private:
  F f_;
  int before_ = std::uncaught_exceptions();
};

}  // namespace weft::detail
