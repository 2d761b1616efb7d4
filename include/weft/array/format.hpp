#pragma once

// fmt formatters of layouts and options of arrays.

#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout.hpp>
#include <weft/core/format.hpp>

template <>
struct fmt::formatter<weft::Layout> : weft::ToStringFormatter<weft::Layout> {};
template <>
struct fmt::formatter<weft::AxisPadding> : weft::ToStringFormatter<weft::AxisPadding> {};
template <>
struct fmt::formatter<weft::Boundary> : weft::ToStringFormatter<weft::Boundary> {};
template <>
struct fmt::formatter<weft::Side> : weft::ToStringFormatter<weft::Side> {};
