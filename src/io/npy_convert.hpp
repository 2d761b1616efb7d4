#pragma once

#include <weft/core/dtype.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>

#include <span>
#include <string>

namespace weft::detail {

/// Reverses the bytes of each number; a complex one is two of them.
void swap_bytes(void* data, index_t count, DType dtype);

/// T holds the numbers of this type exactly; of 64-bit integers, those that doubles can hold.
template <Scalar T>
bool converts(DType from);

/// Fills `to` with numbers of a type that converts. Throws, with the path they come from, if T
/// cannot hold one of them.
template <Scalar T>
void convert(const std::string& path, DType dtype, const void* from, std::span<T> to);

}  // namespace weft::detail
