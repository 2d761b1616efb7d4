#pragma once

#include <weft/array/distributed_array.hpp>
#include <weft/core/dtype.hpp>

#include <string>

namespace weft {

/// The header of a .npy file.
struct NpyInfo {
  /// bool is u8.
  DType dtype = DType::f64;
  Shape shape;
  /// Fortran order: the first index is contiguous.
  bool fortran_order = false;
  /// The offset of the elements in bytes.
  index_t data_offset = 0;
  /// The byte order differs from that of this machine.
  bool swapped = false;
};

/// Reads the header of a .npy file and checks that the file is complete. Not collective.
NpyInfo npy_info(const std::string& path);

/// Writes the global array as a .npy file in C order. Collective: every rank writes its own part,
/// rank 0 alone a replicated array. All ranks must see the same file system. The file is written
/// under a temporary name and renamed when it is complete: after a failure, which all ranks throw
/// as an AgreedError, an existing file is unchanged. Stacks and layouts within groups, which have
/// several arrays, are refused.
template <Scalar T>
void write_npy(const std::string& path, const ConstArrayView<T>& x);

/// Reads a .npy file into an array of this layout, which must have the shape of the file.
/// Collective: every rank reads its own part. Values are converted if the conversion is exact: to
/// higher precision, from integer to real, from real to complex; 64-bit integers to double if their
/// values allow it. If any rank fails, all ranks throw the same AgreedError.
template <Scalar T>
DistributedArray<T> read_npy(const std::string& path, const Layout& layout);

}  // namespace weft
