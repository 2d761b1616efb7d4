#pragma once

#include <weft/array/distributed_array.hpp>
#include <weft/core/dtype.hpp>

#include <string>

namespace weft {

/// What a .npy file says about its array.
struct NpyInfo {
  /// Of NumPy's types, those of DType; bool is u8.
  DType dtype = DType::f64;
  Shape shape;
  /// The first index runs fastest, not the last.
  bool fortran_order = false;
  /// Where the elements begin, in bytes.
  index_t data_offset = 0;
  /// The bytes of each number are in the order that this machine does not use.
  bool swapped = false;
};

/// Reads the header of a .npy file, and checks that all elements it promises are there. For one
/// rank; not collective.
NpyInfo npy_info(const std::string& path);

/// Writes the global array as a .npy file in C order. Collective: every rank writes its own part
/// where it belongs, and of a replicated array rank 0 writes its copy. All ranks must see the same
/// file system. The file is written as `path` + ".partial" and renamed when it is complete, so
/// after a failure, which all ranks throw as an AgreedError, an older file is as it was. Stacks and
/// layouts within groups, which have several arrays, are refused.
template <Scalar T>
void write_npy(const std::string& path, const ConstArrayView<T>& x);

/// Reads a .npy file into an array of this layout, whose shape must be that of the file.
/// Collective: every rank reads its own part. Numbers of another type are converted if all of them
/// arrive exactly: to more digits, from whole to real, from real to complex. 64-bit integers are
/// read as doubles if their values allow it. What any rank complains about, all ranks throw as an
/// AgreedError.
template <Scalar T>
DistributedArray<T> read_npy(const std::string& path, const Layout& layout);

}  // namespace weft
