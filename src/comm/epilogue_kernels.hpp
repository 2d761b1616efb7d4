#pragma once

#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

namespace weft::kernels {

/// Multiplies floating-point or complex numbers. 16-bit floats are multiplied in float.
template <class Device>
void scale(Device device, DType dtype, index_t count, double factor, void* data);

/// Rows without gaps. `out` holds the sums over the ranks at first.
struct NormedRows {
  DType dtype = DType::f32;
  index_t rows = 0;
  index_t width = 0;
  void* out = nullptr;
  void* residual = nullptr;
  const void* weight = nullptr;
  double epsilon = 0;
};

/// residual = out + residual, out = residual / sqrt(mean of squares + epsilon) * weight, for f16,
/// bf16, f32 and f64. See allreduce_rms_norm for where results are rounded.
template <class Device>
void add_rms_norm(Device device, const NormedRows& rows);

}  // namespace weft::kernels
