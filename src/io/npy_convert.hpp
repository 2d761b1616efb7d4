#pragma once

#include <weft/core/dtype.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>

#include <span>
#include <string>

namespace weft::detail {

/// Reverses the bytes of each number; a complex number is two.
void swap_bytes(void* data, index_t count, DType dtype);

/// Whether T represents this type exactly; for 64-bit integers, values that fit into a double.
template <Scalar T>
bool converts(DType from);

/// Converts elements to T. Throws, with the path of the file, if T cannot represent a value
/// exactly.
template <Scalar T>
void convert(const std::string& path, DType dtype, const void* from, std::span<T> to);

}  // namespace weft::detail
