#include <weft/comm/reduce_op.hpp>

#include <array>

namespace weft {

std::string_view to_string(ReduceOp op) {
  static constexpr std::array<std::string_view, 8> names = {"sum",     "prod",   "min",     "max",
                                                            "bit_and", "bit_or", "bit_xor", "avg"};
  return names.at(static_cast<std::size_t>(op));
}

bool has_op(DType dtype, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::prod: return true;
    case ReduceOp::min:
    case ReduceOp::max: return !is_complex_type(dtype);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor: return is_integer(dtype);
    case ReduceOp::avg: break;
  }
  return !is_integer(dtype);
}

}  // namespace weft
