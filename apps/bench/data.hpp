#pragma once

// The data that ranks send, and the expected results. Values are small integers computed from rank
// and index, so that every result is exact in every element type and in any order of additions. The
// expected result is computed with 64-bit integers and compared bit by bit.

#include <weft/comm/reduce_op.hpp>
#include <weft/core/shape.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weft::bench {

/// In place of a rank: the elements are the reduction over all ranks.
inline constexpr int reduced = -1;

/// Consecutive elements of a rank's data, or of the reduction over all ranks.
struct Piece {
  int source = 0;
  index_t first = 0;
  index_t count = 0;
};

index_t count_of(std::span<const Piece> pieces);

/// An element as integers. Only complex types have an imaginary part.
struct Number {
  std::int64_t re = 0;
  std::int64_t im = 0;
  friend bool operator==(const Number&, const Number&) = default;
};

class Data {
 public:
  /// Without an op, data are moved only.
  Data(DType dtype, std::optional<ReduceOp> op, int ranks)
      : dtype_(dtype), op_(op), ranks_(ranks) {}

  DType dtype() const { return dtype_; }
  /// Element `i` of a source.
  Number number(int source, index_t i) const;
  /// The elements of all pieces, concatenated, in the representation of the type.
  std::vector<std::byte> make(std::span<const Piece> pieces) const;

 private:
  Number input(int rank, index_t i) const;
  void fill(std::span<std::byte> bytes, const Piece& piece) const;

  DType dtype_;
  std::optional<ReduceOp> op_;
  int ranks_;
};

/// The number of elements of `element_bytes` that differ in any bit. Both have the same length.
index_t count_different(std::span<const std::byte> a, std::span<const std::byte> b,
                        index_t element_bytes);

}  // namespace weft::bench
