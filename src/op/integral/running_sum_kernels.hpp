#pragma once

// Running sums along an axis, for causal_integration.cpp.

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// Running sums of n elements per line, from element in_first of [outer, in_extent, inner] on and
/// to element out_first of [outer, out_extent, inner] on: out = scale (sum of the elements up to
/// this one), where this one counts half with `halves`. In reverse, sums begin at the last element.
///
/// With an edge, one more element at the beginning of each line counts `edge_weight` times.
/// Forward, it is the first of `in`; its output is 0, if out_first is 1. In reverse, it is the
/// first of `out`, and receives scale edge_weight times the sum of the line.
struct RunningSumPlan {
  index_t outer;
  index_t n;
  index_t inner;
  index_t in_extent;
  index_t in_first;
  index_t out_extent;
  index_t out_first;
  bool reverse;
  double scale;
  bool halves;
  bool edge;
  double edge_weight;
};

/// out = alpha (running sum) + beta out, where sums begin with one carry per line, or with zero if
/// it is null; with beta = 0, `out` is not read.
template <class Device, class T>
void running_sums(Device device, const RunningSumPlan& plan, T alpha, const T* in,
                  const SumOf<T>* carry, T beta, T* out);

/// The sums of lines, those of edges forward included.
template <class Device, class T>
void line_totals(Device device, const RunningSumPlan& plan, const T* in, SumOf<T>* totals);

/// sums[i] = values[first, i] + ... + values[last - 1, i] for values [ranks, n].
template <class Device, class A>
void sum_rows(Device device, index_t n, index_t first, index_t last, const A* values, A* sums);

}  // namespace weft::kernels
