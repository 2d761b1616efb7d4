#pragma once

#include <weft/core/dtype.hpp>

#include <cstdint>
#include <string_view>

namespace weft {

/// `avg` is the sum, in the elements' type, divided by the number of ranks.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, bit_and, bit_or, bit_xor, avg };

std::string_view to_string(ReduceOp op);

/// Whether elements of this type can be reduced with `op`: min and max need an order, which complex
/// types lack; bit operations need integers, averages floating-point types.
bool has_op(DType dtype, ReduceOp op);

}  // namespace weft
