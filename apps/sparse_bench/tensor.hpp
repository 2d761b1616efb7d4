#pragma once

// Integer-valued tensors: their sums do not depend on the order of additions, so that conservation
// can be checked without tolerances.

#include <weft/comm/comm.hpp>

#include <functional>
#include <vector>

namespace weft::sparse_bench {

/// n elements of a floating-point type in memory of a device.
class Tensor {
 public:
  Tensor(index_t n, DType dtype, Device device);

  /// Sets element i to value(i), rounded to the type.
  void write(const std::function<double(index_t)>& value);
  BufferRef ref() { return {memory_.data(), n_, dtype_, memory_.device()}; }

 private:
  index_t n_;
  DType dtype_;
  Buffer<std::byte> memory_;
};

/// Element i of the gradient of a rank in a step. The integers are distributed about normally, up
/// to 2046 in magnitude, with smaller ones in some eighths of the tensor, as in layers of a
/// network.
double gradient_at(int rank, index_t step, index_t n, index_t i);

/// Integers so small that their sums over the ranks are exact in every type.
double small_integer_at(int rank, int ranks, index_t step, index_t i);

std::vector<std::byte> bytes_of(ConstBufferRef memory);
/// Of a floating-point type.
std::vector<double> numbers_in(ConstBufferRef memory);
/// Of u32, u64 or i64.
std::vector<index_t> indices_in(ConstBufferRef memory);

}  // namespace weft::sparse_bench
