#pragma once

// Allreduces followed by arithmetic on the sums. On the route "fast" each is one kernel; elsewhere
// they are an allreduce and a kernel of their own. Both ways give the same bits on the same route.
// Collective; memory, streams and the order of calls are as in Comm. Stats count an allreduce.

#include <weft/comm/buffer_ref.hpp>
#include <weft/comm/comm.hpp>

namespace weft {

/// out = scale * (sum over the ranks of in), for floating-point and complex types. The sum is
/// rounded to the type before it is scaled, and 16-bit floats are scaled in float. `scale` must be
/// the same on all ranks. `out` may be `in`.
void allreduce_scaled(const Comm& comm, ConstBufferRef in, BufferRef out, double scale);

/// The weights of a row, and a number that keeps the norm of small rows away from zero.
struct RmsNorm {
  ConstBufferRef weight;
  double epsilon = 1e-6;
};

/// Root-mean-square norm of rows of weight.count elements, for f16, bf16, f32 and f64:
///
///   residual = (sum over the ranks of in) + residual
///   out = residual / sqrt(mean over the row of residual^2 + epsilon) * weight
///
/// 16-bit floats are rounded where they are stored: after the sum over the ranks, after the
/// residual is added, and at the end. Between these steps they are floats. The order in which
/// squares are added depends only on the length of the row and the kind of device, so results on
/// CPUs and GPUs differ by the rounding of the mean.
///
/// Rows have no gaps. Their length and epsilon must be the same on all ranks; weights and
/// residuals usually are. `out` may be `in`; no other memory that is written may overlap.
void allreduce_rms_norm(const Comm& comm, ConstBufferRef in, BufferRef residual, BufferRef out,
                        const RmsNorm& norm);

}  // namespace weft
