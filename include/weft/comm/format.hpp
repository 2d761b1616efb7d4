#pragma once

// fmt formatters of the value types of comm; see weft/core/format.hpp.

#include <weft/comm/comm.hpp>
#include <weft/core/format.hpp>

template <>
struct fmt::formatter<weft::ReduceOp> : weft::ToStringFormatter<weft::ReduceOp> {};
template <>
struct fmt::formatter<weft::CallKind> : weft::ToStringFormatter<weft::CallKind> {};
template <>
struct fmt::formatter<weft::Stats> : weft::ToStringFormatter<weft::Stats> {};
template <>
struct fmt::formatter<weft::Route> : weft::ToStringFormatter<weft::Route> {};
