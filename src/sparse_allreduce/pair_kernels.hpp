#pragma once

#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include "sparse_allreduce/selection_kernels.hpp"

#include <cstdint>

/// Pairs of an index and a value, as ranks exchange them, and what owners do with them.
namespace weft::kernels {

/// The types of a pair. Sums and residuals of 16-bit values are f32.
struct PairTypes {
  DType value = DType::f32;
  bool wide = false;  // 64-bit indices

  DType work() const { return value == DType::f64 ? DType::f64 : DType::f32; }
  DType index() const { return wide ? DType::u64 : DType::u32; }
  /// Pairs have no padding.
  index_t bytes() const { return size_of(value) + size_of(index()); }
};

/// Indices whose rounding a rank makes up for: begin <= i < end.
struct IndexRange {
  index_t begin = 0;
  index_t end = 0;
};

/// pairs[i] = (list.index[i], list.value[i] / divisor rounded to the type of values). What rounding
/// to 16 bits takes from elements in `kept` is added to the residual; numbers that are too large
/// become the largest finite one.
struct Packing {
  PairTypes types;
  SelectedList list;
  Count count;
  double divisor = 1;
  void* residual = nullptr;
  IndexRange kept;
  void* pairs = nullptr;
  /// If neither null nor 0 in memory of the device, the residual stays as it is.
  const index_t* refused = nullptr;
};
template <class Device>
void pack(Device device, const Packing& work);

/// sum[index - base] += value. Indices are unique.
template <class Device>
void scatter_add(Device device, PairTypes types, const void* pairs, index_t count, index_t base,
                 void* sum);

/// Offsets of the first pairs whose indices are at least boundaries[r], 0 < r < ranks, of sorted
/// pairs; offsets[0] = 0 and offsets[ranks] = count.
template <class Device>
void split_sorted(Device device, PairTypes types, const void* pairs, Count count, int ranks,
                  const index_t* boundaries, index_t* offsets);

/// Orders pairs by their owners (index / block) % ranks, stably; offsets as in split_sorted.
template <class Device>
void split_cyclic(Device device, PairTypes types, const void* pairs, Count count, int ranks,
                  index_t block, index_t* offsets, void* sorted);

/// Adds to the residual those of `pairs` whose indices `kept` does not have. Both are sorted.
template <class Device>
void return_others(Device device, PairTypes types, const void* pairs, Count count, const void* kept,
                   Count kept_count, void* residual);

/// A list of the indices and values of pairs, in their order.
template <class Device>
void unpack(Device device, PairTypes types, const void* pairs, index_t count,
            const SelectedList& list);

/// Arrays of indices and values of pairs.
template <class Device>
void separate(Device device, PairTypes types, const void* pairs, Count count, void* indices,
              void* values);

/// Elements of the result: 0, or the value of a pair.
template <class Device>
void store_pairs(Device device, PairTypes types, const void* pairs, Count count, void* result);

/// result = sum / divisor, rounded; what rounding to 16 bits takes from elements in `kept` is added
/// to the residual. If *refused is not 0, result = 0 and the residual stays as it is; null: it is
/// 0.
template <class Device>
void store_sums(Device device, PairTypes types, index_t n, const void* sum, double divisor,
                IndexRange kept, void* residual, void* result, const index_t* refused = nullptr);

/// Values in the type of sums.
template <class Device>
void widen_values(Device device, DType dtype, index_t n, const void* values, void* wide);

/// Sums that nothing was added to: -0.
template <class Device>
void clear_sums(Device device, DType work, index_t n, void* sums);
/// Those of range[0] <= i < range[1], in memory of the device, of n sums.
template <class Device>
void clear_own_sums(Device device, DType work, index_t n, const index_t* range, void* sums);

/// values[i] = 0, of a floating-point type.
template <class Device>
void clear(Device device, DType dtype, index_t n, void* values);

/// The same of f32 or f64, if *flag is 0.
template <class Device>
void clear_unless(Device device, DType dtype, index_t n, const index_t* flag, void* values);

/// Sorts pairs by index. The buffer `other` has room for as many.
template <class Device>
void sort_pairs(Device device, PairTypes types, Count count, void* pairs, void* other);

/// The union of a list and of pairs, both sorted, where values of common indices are added, the
/// list's first. *length is its length.
template <class Device>
void merge_pairs(Device device, PairTypes types, const SelectedList& first, index_t first_count,
                 const void* second, index_t second_count, const SelectedList& merged,
                 index_t* length);

/// Adds to the residual the elements of a list that `kept`, a part of it, lacks.
template <class Device>
void add_dropped(Device device, DType work, const SelectedList& list, index_t count,
                 const SelectedList& kept, index_t kept_count, void* residual);

/// quantiles[r - 1] = the index of the pair at count * r / ranks, 0 < r < ranks; multiples of
/// n / ranks if there are fewer pairs than ranks.
template <class Device>
void index_quantiles(Device device, PairTypes types, const void* pairs, Count count, index_t n,
                     int ranks, index_t* quantiles);

}  // namespace weft::kernels
