#pragma once

// What the kernels of selection share; for *_kernels.cpp files only.

#include <weft/core/dtype.hpp>
#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/selection_kernels.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace weft::kernels::selection {

/// Calls f with a number of this type, f32 or f64.
template <class F>
void with_work(DType work, F f) {
  if (work == DType::f64) {
    f(double{});
  } else {
    f(float{});
  }
}

/// Calls job(chunk, begin, end) for all chunks of n elements on several threads.
template <class Job>
void for_chunks(index_t n, Job job) {
  weft::detail::share_jobs(selection_chunks(n), weft::detail::threads_for(n), [=](index_t chunk) {
    const index_t begin = chunk * selection_chunk;
    job(chunk, begin, std::min(n, begin + selection_chunk));
  });
}

/// Where the elements of a list go and which of them there is room for.
template <class W>
struct ListWriter {
  index_t* index;
  W* value;
  index_t capacity;

  bool put(index_t at, index_t i, W x) const {
    if (at >= capacity) return false;
    index[at] = i;
    value[at] = x;
    return true;
  }
};

template <class W>
ListWriter<W> writer(const SelectedList& list) {
  return {list.index, static_cast<W*>(list.value), list.capacity};
}

/// Replaces numbers by the sums of those before them and returns the sum of all.
inline index_t exclusive_sums(index_t count, index_t stride, index_t* numbers) {
  index_t total = 0;
  for (index_t c = 0; c < count; ++c) {
    total += std::exchange(numbers[c * stride], total);
  }
  return total;
}

}  // namespace weft::kernels::selection
