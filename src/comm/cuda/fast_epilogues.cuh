#pragma once

// What is done to the sums of an allreduce in the same kernel. Results have the same bits as those
// of the steps apart: sums are rounded to the type of the elements before anything else is done to
// them. Like fast_allreduce.cuh, this needs CUDA only.

#include "comm/cuda/fast_allreduce.cuh"

namespace weft::fast {

/// Sums that are multiplied or divided by a number.
struct ScaledSum : Sum {
  static constexpr bool unrolls_ranks = false;  // halves the compile time
  double factor = 1;
  bool divides = false;

  template <class T>
  __device__ T finish(T sum) const {
    const auto wide = static_cast<Wide<T>>(sum);
    const auto number = static_cast<Wide<T>>(factor);
    return static_cast<T>(divides ? wide / number : wide * number);
  }
};

// RMS norm of rows. A block computes a row at a time; which thread adds which squares, and in which
// order, depends only on the length of a row.

/// Rows to normalise, all of `width` elements and without gaps.
template <class T>
struct NormRows {
  const T* in = nullptr;
  T* residual = nullptr;
  const T* weight = nullptr;
  T* out = nullptr;
  std::size_t rows = 0;
  std::size_t width = 0;
  double epsilon = 0;
};

namespace detail {

/// The sum of the values of all threads, on all threads. For blocks of block_threads.
template <class A>
__device__ A block_sum(A value) {
  constexpr int warp = 32;
  constexpr int warps = block_threads / warp;
  __shared__ A sums[warps];
#pragma unroll
  for (int lanes = warp / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(~0U, value, lanes);
  }
  __syncthreads();  // all threads have read the sums of the last call
  if (threadIdx.x % warp == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();
  A total = sums[0];
#pragma unroll
  for (int i = 1; i < warps; ++i) total += sums[i];
  return total;
}

/// residual = sum + residual, out = residual / sqrt(mean of squares + epsilon) * weight for one
/// row, whose sums are read by read_sum(pack). `out` may be where the sums are. Call it on all
/// threads.
template <class T, class ReadSum>
__device__ void norm_row(const NormRows<T>& rows, std::size_t row, ReadSum read_sum) {
  using W = Wide<T>;
  const std::size_t packs = pack_count<T>(rows.width);
  const std::size_t offset = row * rows.width;
  const Packs<T> residual(rows.residual + offset, rows.width);
  const Packs<T> weight(const_cast<T*>(rows.weight), rows.width);
  const Packs<T> out(rows.out + offset, rows.width);
  W squares = 0;
  for (std::size_t i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack<T> sum = read_sum(i);
    Pack<T> total = residual.load(i);
#pragma unroll
    for (int k = 0; k < Pack<T>::size; ++k) {  // elements beyond the end are zero
      total.at[k] = static_cast<T>(static_cast<W>(sum.at[k]) + static_cast<W>(total.at[k]));
      const auto value = static_cast<W>(total.at[k]);
      squares += value * value;
    }
    residual.store(i, total);
  }
  const W mean = block_sum(squares) / static_cast<W>(rows.width);
  const W scale = W{1} / sqrt(mean + static_cast<W>(rows.epsilon));
  for (std::size_t i = threadIdx.x; i < packs; i += blockDim.x) {
    Pack<T> value = residual.load(i);  // stored by the same thread
    const Pack<T> factor = weight.load(i);
#pragma unroll
    for (int k = 0; k < Pack<T>::size; ++k) {
      value.at[k] =
          static_cast<T>(static_cast<W>(value.at[k]) * scale * static_cast<W>(factor.at[k]));
    }
    out.store(i, value);
  }
}

}  // namespace detail

/// The norm alone: `in` holds the sums. Any grid.
template <class T>
__global__ void __launch_bounds__(block_threads) rms_norm_kernel(NormRows<T> rows) {
  for (std::size_t row = blockIdx.x; row < rows.rows; row += gridDim.x) {
    const Packs<T> sums(const_cast<T*>(rows.in) + row * rows.width, rows.width);
    detail::norm_row(rows, row, [&](std::size_t pack) { return sums.load(pack); });
  }
}

/// The rows of one rank that fit its part of a slab.
template <class T>
__host__ __device__ std::size_t rows_per_chunk(const Team& team, std::size_t width) {
  return team.push_bytes / sizeof(Pack<T>) / pack_count<T>(width);
}

/// Allreduce and norm. As in push_kernel, every rank copies its data to all peers, in chunks of
/// whole rows. The block that copies a row to the peers has the index of the blocks that read it
/// there, in all chunks.
template <class T>
__global__ void __launch_bounds__(block_threads)
    allreduce_rms_norm_kernel(Team team, NormRows<T> rows) {
  const std::size_t packs = pack_count<T>(rows.width);
  const std::size_t chunk = rows_per_chunk<T>(team, rows.width);
  std::uint32_t generation = detail::begin_call(team);
  for (std::size_t first = 0; first < rows.rows; first += chunk) {
    if (first > 0) generation = detail::next_generation(generation);
    const std::size_t end = rows.rows - first < chunk ? rows.rows : first + chunk;
    const auto slot = [&](int owner, int from, std::size_t row) {
      return push_half<T>(team, owner, generation) +
             (static_cast<std::size_t>(from) * chunk + row - first) * packs;
    };
    const auto mine = [&](std::size_t row) {
      return Packs<T>(const_cast<T*>(rows.in) + row * rows.width, rows.width);
    };
    for (std::size_t row = first + blockIdx.x; row < end; row += gridDim.x) {
      for (std::size_t i = threadIdx.x; i < packs; i += blockDim.x) {
        const Pack<T> pack = mine(row).load(i);
        for (int step = 1; step < team.ranks; ++step) {
          slot((team.rank + step) % team.ranks, team.rank, row)[i] = pack;
        }
      }
    }
    if (!detail::meet(team, detail::StartFlags{}, generation)) break;
    for (std::size_t row = first + blockIdx.x; row < end; row += gridDim.x) {
      detail::norm_row(rows, row, [&](std::size_t i) {
        return combine<T, 0>(team.ranks, Sum{}, [&](int rank) {
          return rank == team.rank ? mine(row).load(i) : slot(team.rank, rank, row)[i];
        });
      });
    }
  }
  detail::end_call(team, generation);
}

}  // namespace weft::fast
