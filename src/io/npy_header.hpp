#pragma once

#include <weft/io/npy.hpp>

#include "io/file.hpp"

#include <string>

namespace weft::detail {

/// The header of an array in C order and in the byte order of this machine.
std::string npy_header(DType dtype, const Shape& shape);

/// Throws if the file is not a .npy file, is incomplete, or has elements without a DType.
NpyInfo read_npy_header(const File& file);

}  // namespace weft::detail
