#pragma once

// Filters that depend on the position: sums over taps of filters interpolated between the nodes of
// a regular grid, for filter_bank.cpp.

#include <weft/kernel/complex.hpp>

#include "kernel/kernel_scalars.hpp"
#include "op/convolution/padded_rows.hpp"

namespace weft::kernels {

/// The axes before that of the rows along which filters vary: two, for arrays with three such axes.
inline constexpr int max_leading_nodes = 2;

/// The nodes along an axis. Tables are by position in the padded part of an array; those of the
/// axis of the rows by element of a padded row.
template <class R>
struct NodeAxis {
  index_t count;          // of nodes
  index_t stride;         // between filters of neighbouring nodes
  int axis;               // in PaddedRows, if it is not that of the rows
  const index_t* lower;   // the node before the position
  const index_t* end;     // the next position with another `lower`
  const R* weight;        // of the node after the position; that of `lower` is 1 minus it
  const index_t* begins;  // [node]: positions [begin, end) at which the node has a weight
  const index_t* ends;
  index_t widest;  // the largest number of positions with a weight
};

/// The grid and the taps of its filters.
template <class R>
struct FilterNodes {
  int leading;  // number of axes
  NodeAxis<R> axes[max_leading_nodes];
  NodeAxis<R> row;
  index_t taps;  // per filter
  /// [tap]: distance from an element to the input of the tap in the padded array; negative if the
  /// tap reaches beyond the array from all elements.
  const index_t* shifts;
  /// [tap, 3]: distance from an element to the position that determines the filter, along the
  /// leading axes and along the row.
  const index_t* places;
};

/// y[i] = alpha sum over t of f(i + places[t])[t] x[i + shifts[t]] + beta y[i], where f(p) is the
/// filter at position p, interpolated between `filters`, an array [nodes..., taps]; x is padded.
template <class Device, class T>
void apply_filter_bank(Device device, PaddedRows rows, FilterNodes<RealOf<T>> nodes,
                       const T* filters, T alpha, const T* x, T beta, T* y);

/// The adjoint in the filters: filters[n, t] = alpha sum over i of w(n, i + places[t])
/// conj(x[i + shifts[t]]) y[i] + beta filters[n, t], where w(n, p) is the weight of node n at p and
/// filters an array of `elements` elements.
template <class Device, class T>
void correlate_filter_bank(Device device, PaddedRows rows, FilterNodes<RealOf<T>> nodes,
                           index_t elements, const T* x, T alpha, const T* y, T beta, T* filters);

}  // namespace weft::kernels
