#pragma once

#include <weft/io/npy.hpp>

#include "io/file.hpp"

#include <string>

namespace weft::detail {

/// All that comes before the elements of an array in C order, in this machine's order of bytes.
std::string npy_header(DType dtype, const Shape& shape);

/// Throws if the file is not one of NumPy, is not complete, or has elements that no DType is for.
NpyInfo read_npy_header(const File& file);

}  // namespace weft::detail
