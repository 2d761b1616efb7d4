#pragma once

// What is done to the sums of an allreduce before they are stored.

#include <weft/comm/buffer_ref.hpp>

#include <variant>

namespace weft::detail {

/// x * factor, or x / factor.
struct Scaling {
  double factor = 1;
  bool divides = false;
};

/// Rows of weight.count elements: residual = sum + residual, out = residual / sqrt(mean of squares
/// + epsilon) * weight.
struct RowNorm {
  BufferRef residual;
  ConstBufferRef weight;
  double epsilon = 0;
};

using Epilogue = std::variant<Scaling, RowNorm>;

}  // namespace weft::detail
