#include <weft/core/dtype.hpp>

#include <array>

namespace weft {

std::string_view to_string(DType dtype) {
  static constexpr std::array<std::string_view, 14> names = {"f16",  "bf16", "f32", "f64", "c64",
                                                             "c128", "i8",   "i16", "i32", "i64",
                                                             "u8",   "u16",  "u32", "u64"};
  return names.at(static_cast<std::size_t>(dtype));
}

}  // namespace weft
