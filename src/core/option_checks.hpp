#pragma once

// Checks of options: enumerators and positive numbers.

#include <weft/core/error.hpp>

#include <cmath>
#include <type_traits>

namespace weft::detail {

/// Refuses values that are not enumerators; `last` is the last one.
template <class E>
void require_enumerator(E value, E last, const char* who, const char* what) {
  const auto number = static_cast<std::underlying_type_t<E>>(value);
  require(number <= static_cast<std::underlying_type_t<E>>(last), "{}: there is no {} number {}",
          who, what, static_cast<int>(number));
}

inline void require_positive(double value, const char* who, const char* what) {
  require(std::isfinite(value) && value > 0, "{}: {} is {}, but must be positive and finite", who,
          what, value);
}

}  // namespace weft::detail
