#pragma once

// fmt formatters of the value types of core: fmt::format("{}", shape) gives to_string(shape). They
// take no format specification.

#include <weft/core/cpu_level.hpp>
#include <weft/core/device.hpp>
#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include <fmt/core.h>

namespace weft {

/// Base of formatters: `template <> struct fmt::formatter<T> : weft::ToStringFormatter<T> {};`
template <class T>
struct ToStringFormatter {
  template <class ParseContext>
  constexpr auto parse(ParseContext& context) {
    return context.begin();
  }
  template <class FormatContext>
  auto format(const T& value, FormatContext& context) const {
    auto out = context.out();
    for (const char letter : to_string(value)) *out++ = letter;
    return out;
  }
};

}  // namespace weft

template <>
struct fmt::formatter<weft::Index> : weft::ToStringFormatter<weft::Index> {};
template <>
struct fmt::formatter<weft::Shape> : weft::ToStringFormatter<weft::Shape> {};
template <>
struct fmt::formatter<weft::Box> : weft::ToStringFormatter<weft::Box> {};
template <>
struct fmt::formatter<weft::Device> : weft::ToStringFormatter<weft::Device> {};
template <>
struct fmt::formatter<weft::DeviceKind> : weft::ToStringFormatter<weft::DeviceKind> {};
template <>
struct fmt::formatter<weft::DType> : weft::ToStringFormatter<weft::DType> {};
template <>
struct fmt::formatter<weft::CpuLevel> : weft::ToStringFormatter<weft::CpuLevel> {};
