#pragma once

// Contents of .npy files as NumPy writes them.

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// A file of version 1.0 with the dictionary `text`, followed by `elements`.
std::string image(std::string text, std::string_view elements);

std::string dictionary(std::string_view type, std::string_view shape,
                       std::string_view fortran_order = "False");

template <class V>
std::string bytes_of(const std::vector<V>& values) {
  std::string bytes(values.size() * sizeof(V), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace weft::test
