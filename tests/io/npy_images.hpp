#pragma once

// Images of .npy files, spelled out as NumPy writes them, and errors that all ranks throw.

#include <weft/comm/comm.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// A file of version 1.0 whose dictionary is `text`, with `elements` behind it.
std::string image(std::string text, std::string_view elements);

std::string dictionary(std::string_view type, std::string_view shape,
                       std::string_view fortran_order = "False");

template <class V>
std::string bytes_of(const std::vector<V>& values) {
  std::string bytes(values.size() * sizeof(V), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// The same AgreedError on all ranks, which names all of `words`; and all can go on.
void expect_agreed(const Comm& comm, const std::vector<std::string>& words,
                   const std::function<void()>& call);

}  // namespace weft::test
