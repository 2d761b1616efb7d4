#pragma once

#include "sparse_allreduce/selection_kernels.hpp"

/// Error feedback and selection by a threshold in one pass over gradient and residual.
namespace weft::kernels {

/// Elements of the gradient that are not finite, or whose sum with the residual is not.
struct BadElements {
  index_t count = 0;
  index_t first = -1;
};

/// A chunk with about as many selected elements or more is read again.
inline constexpr index_t staged_per_chunk = selection_chunk / 8;

inline constexpr index_t staged_per_tile = staged_per_chunk * selection_tile / selection_chunk;

/// What one pass over an array has found, chunk by chunk; on GPUs tile by tile.
struct Staging {
  index_t* index = nullptr;  // staged_per_chunk per chunk
  void* value = nullptr;
  index_t* count = nullptr;  // of selected elements, also of those that are not staged
};

/// residual = decay * residual + gradient. Elements where that is not finite keep their residual.
/// Stages the elements that `rule` takes with any number of ties. If `take`, they are 0 in the
/// residual afterwards, unless their chunk has more than are staged. `dtype` is of the gradient.
struct Accumulation {
  index_t n = 0;
  DType dtype = DType::f32;
  const void* gradient = nullptr;
  void* residual = nullptr;
  double decay = 1;
  bool take = false;
  const SelectionRule* rule = nullptr;
  Staging staging;
  BadElements* bad = nullptr;  // one per chunk
  BadElements* all_bad = nullptr;
};
template <class Device>
void accumulate(Device device, const Accumulation& work);

/// Stores in *total how many elements accumulate() has found; the counts of chunks become the sums
/// of those before them.
template <class Device>
void count_staged(Device device, index_t n, const Staging& staging, index_t* total);

/// Makes the list of what accumulate() has found, *total elements, after count_staged(). Elements
/// beyond the capacity of the list stay in `values`. `work` is the type of values.
template <class Device>
void collect(Device device, DType work, index_t n, void* values, bool take,
             const SelectionRule* rule, const Staging& staging, const SelectedList& list,
             const index_t* total);

/// out[i] = decay * residual[j] + gradient[j], j = i * stride, without changing the residual; 0
/// where that is not finite.
template <class Device>
void sample(Device device, const Accumulation& work, index_t count, index_t stride, void* out);

}  // namespace weft::kernels
