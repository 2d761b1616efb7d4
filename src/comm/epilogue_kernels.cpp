#include "comm/epilogue_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#if defined(__CUDACC__)
#include "comm/cuda/fast_epilogues.cuh"
#endif

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace weft::kernels {
namespace {

/// 16-bit floats are computed with as floats.
template <class T>
using ComputeType = std::conditional_t<std::is_floating_point_v<T>, T, float>;

template <class T, class Device>
void scale_typed(Device device, index_t count, double factor, void* data) {
  auto* numbers = static_cast<T*>(data);
  const auto number = static_cast<ComputeType<T>>(factor);
  for_each(device, count, [=] WEFT_KERNEL(index_t i) {
    numbers[i] = static_cast<T>(static_cast<ComputeType<T>>(numbers[i]) * number);
  });
}

#if defined(__CUDACC__)

// The types of the kernel that also communicates, whose bits these are to equal.
using Float16 = __half;
using BrainFloat16 = __nv_bfloat16;

template <class T>
void norm_typed(Cuda device, const NormedRows& rows) {
  fast::NormRows<T> typed;
  typed.in = static_cast<const T*>(rows.out);
  typed.residual = static_cast<T*>(rows.residual);
  typed.weight = static_cast<const T*>(rows.weight);
  typed.out = static_cast<T*>(rows.out);
  typed.rows = static_cast<std::size_t>(rows.rows);
  typed.width = static_cast<std::size_t>(rows.width);
  typed.epsilon = rows.epsilon;
  constexpr index_t most_blocks = 65535;
  const auto blocks = static_cast<unsigned>(std::min(rows.rows, most_blocks));
  fast::rms_norm_kernel<T>
      <<<blocks, fast::block_threads, 0, weft::detail::stream_of(device)>>>(typed);
  weft::detail::check_cuda_launch();
}

#else

using Float16 = Half;
using BrainFloat16 = BFloat16;

template <class T>
void norm_typed(Cpu, const NormedRows& rows) {
  using W = ComputeType<T>;
  const auto epsilon = static_cast<W>(rows.epsilon);
  const index_t width = rows.width;
  const auto* weight = static_cast<const T*>(rows.weight);
  const int threads = weft::detail::threads_for(rows.rows * width);
  weft::detail::share_jobs(rows.rows, threads, [=](index_t row) {
    auto* residual = static_cast<T*>(rows.residual) + row * width;
    auto* out = static_cast<T*>(rows.out) + row * width;
#pragma omp simd
    for (index_t i = 0; i < width; ++i) {
      residual[i] = static_cast<T>(static_cast<W>(out[i]) + static_cast<W>(residual[i]));
    }
    const W squares = weft::detail::reduce_range(
        0, width, W{},
        [=](index_t i) {
          const auto value = static_cast<W>(residual[i]);
          return value * value;
        },
        [](W a, W b) { return a + b; });
    const W scale = W{1} / std::sqrt(squares / static_cast<W>(width) + epsilon);
#pragma omp simd
    for (index_t i = 0; i < width; ++i) {
      out[i] = static_cast<T>(static_cast<W>(residual[i]) * scale * static_cast<W>(weight[i]));
    }
  });
}

#endif

}  // namespace

template <class Device>
void scale(Device device, DType dtype, index_t count, double factor, void* data) {
  switch (dtype) {
    case DType::f16: return scale_typed<Half>(device, count, factor, data);
    case DType::bf16: return scale_typed<BFloat16>(device, count, factor, data);
    // The two parts of a complex number are scaled alike.
    case DType::c64: return scale_typed<float>(device, 2 * count, factor, data);
    case DType::f32: return scale_typed<float>(device, count, factor, data);
    case DType::c128: return scale_typed<double>(device, 2 * count, factor, data);
    default: return scale_typed<double>(device, count, factor, data);
  }
}

template <class Device>
void add_rms_norm(Device device, const NormedRows& rows) {
  if (rows.rows == 0) return;
  switch (rows.dtype) {
    case DType::f16: return norm_typed<Float16>(device, rows);
    case DType::bf16: return norm_typed<BrainFloat16>(device, rows);
    case DType::f32: return norm_typed<float>(device, rows);
    default: return norm_typed<double>(device, rows);
  }
}

template void scale(WEFT_THIS_DEVICE, DType, index_t, double, void*);
template void add_rms_norm(WEFT_THIS_DEVICE, const NormedRows&);

}  // namespace weft::kernels
