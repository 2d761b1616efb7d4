#include "io/npy_images.hpp"

#include <fmt/format.h>

namespace weft::test {

std::string image(std::string text, std::string_view elements) {
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  const auto length = static_cast<char>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + length + '\0' + text + std::string(elements);
}

std::string dictionary(std::string_view type, std::string_view shape,
                       std::string_view fortran_order) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, fortran_order,
                     shape);
}

}  // namespace weft::test
