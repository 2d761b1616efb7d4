#pragma once

// Copies of runs on the CPU, for axis_map_kernels.cpp only.

#include <weft/kernel/for_each.hpp>

#include "kernel/non_temporal.hpp"
#include "op/basic/axis_map_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace weft::kernels {

/// Threads share blocks of rows of `inner` elements, in the order in which runs list them.
template <class T>
class RunCopy {
 public:
  RunCopy(const DirectedRun* runs, index_t count, index_t outer, index_t inner, const T* from,
          index_t from_extent, T* to, index_t to_extent)
      : runs_(runs),
        outer_(outer),
        inner_(inner),
        from_(from),
        from_extent_(from_extent),
        to_(to),
        to_extent_(to_extent) {
    for (index_t r = 0; r < count; ++r) rows_ += runs[r].extent;
    non_temporal_ = outer * rows_ * inner * index_t{sizeof(T)} >= non_temporal_bytes &&
                    reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0;
  }

  void run() const {
    const index_t rows = outer_ * rows_;
    if (rows * inner_ == 0) return;
    const int threads = detail::threads_for(rows * inner_);
    const index_t most = std::max<index_t>(1, rows / (detail::many_jobs * threads));
    const index_t block = std::clamp<index_t>(block_elements / inner_, 1, most);
    detail::share_jobs((rows + block - 1) / block, threads, [&](index_t job) {
      copy_rows(job * block, std::min(rows, (job + 1) * block));
      if (non_temporal_) fence_non_temporal_stores();
    });
  }

 private:
  static constexpr index_t block_elements = 65536;
  /// Elements that are reversed before they are stored.
  static constexpr index_t chunk = 1024;
  static constexpr index_t prefetch = 2048 / index_t{sizeof(T)};

  /// Copies rows [first, last), counted over all outer indices.
  void copy_rows(index_t first, index_t last) const {
    while (first < last) {
      const index_t o = first / rows_;
      index_t row = first % rows_;
      const DirectedRun* run = runs_;
      for (; row >= run->extent; ++run) row -= run->extent;
      const index_t count = std::min(run->extent - row, last - first);
      const T* source = from_ + (o * from_extent_ + run->from + row * run->step) * inner_;
      T* target = to_ + (o * to_extent_ + run->to + row) * inner_;
      if (run->step > 0) {
        copy(source, count * inner_, target);
      } else if (inner_ == 1) {
        reverse(source, count, target);
      } else {
        for (index_t i = count - 1; i >= 0; --i) {
          copy(source - i * inner_, inner_, target + i * inner_);
        }
      }
      first += count;
    }
  }
  void copy(const T* source, index_t n, T* target) const {
    if (!non_temporal_) {
      std::memcpy(static_cast<void*>(target), source, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
    copy_non_temporal(source, n, target);
  }
  /// target[i] = source[-i]. The source is read in ascending order, for hardware prefetchers.
  void reverse(const T* source, index_t n, T* target) const {
    alignas(line_bytes) T values[chunk];
    constexpr index_t line = line_bytes / index_t{sizeof(T)};
    for (index_t rest = n; rest > 0;) {
      const index_t count = std::min(chunk, rest);
      rest -= count;
      T* const out = non_temporal_ ? values : target + rest;
      const T* from = source - rest - count + 1;
      for (index_t i = 0; i < count; i += line) {
        __builtin_prefetch(from + i + prefetch);
        const index_t end = std::min(i + line, count);
        for (index_t j = i; j < end; ++j) out[count - 1 - j] = from[j];
      }
      if (non_temporal_) copy_non_temporal(values, count, target + rest);
    }
  }

  const DirectedRun* runs_;
  index_t outer_;
  index_t inner_;
  const T* from_;
  index_t from_extent_;
  T* to_;
  index_t to_extent_;
  index_t rows_ = 0;
  bool non_temporal_ = false;
};

}  // namespace weft::kernels
