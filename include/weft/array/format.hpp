#pragma once

// fmt formatters of layouts and options of arrays.

#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout.hpp>

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace weft::detail {

/// Formats a value as to_string() does, with the options of a string.
template <class Value>
struct ToStringFormatter : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const Value& value, Context& context) const {
    const std::string text(to_string(value));
    return fmt::formatter<std::string_view>::format(text, context);
  }
};

}  // namespace weft::detail

template <>
struct fmt::formatter<weft::Layout> : weft::detail::ToStringFormatter<weft::Layout> {};
template <>
struct fmt::formatter<weft::AxisPadding> : weft::detail::ToStringFormatter<weft::AxisPadding> {};
template <>
struct fmt::formatter<weft::Boundary> : weft::detail::ToStringFormatter<weft::Boundary> {};
template <>
struct fmt::formatter<weft::Side> : weft::detail::ToStringFormatter<weft::Side> {};
