#include "op/convolution/filter_bank_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "array/update_math.hpp"
#include "kernel/multiply_add.hpp"
#include "op/convolution/row_offset.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

/// Filters between which those of a row are interpolated, without regard to the axis of the row.
template <class R>
struct Corner {
  index_t filter;  // position of the filter's tap, for node 0 along the row
  R weight;
};
inline constexpr int max_corners = 1 << max_leading_nodes;

template <class R>
WEFT_FUNCTION int find_corners(const PaddedRows& rows, const FilterNodes<R>& nodes, index_t row,
                               index_t tap, Corner<R> (&corners)[max_corners]) {
  int count = 1;
  corners[0] = {tap, R{1}};
  for (int i = 0; i < nodes.leading; ++i) {
    const NodeAxis<R>& axis = nodes.axes[i];
    const index_t at = row_coordinate(rows, row, axis.axis) + nodes.places[3 * tap + i];
    const R weight = axis.weight[at];
    for (int c = 0; c < count; ++c) corners[c].filter += axis.lower[at] * axis.stride;
    if (weight == R{}) continue;
    for (int c = 0; c < count; ++c) {
      corners[count + c] = {corners[c].filter + axis.stride, corners[c].weight * weight};
      corners[c].weight *= 1 - weight;
    }
    count *= 2;
  }
  return count;
}

template <class T, class R>
WEFT_FUNCTION T interpolate(const Corner<R>* corners, int count, const T* filters) {
  T sum{};
  for (int c = 0; c < count; ++c) sum += corners[c].weight * filters[corners[c].filter];
  return sum;
}

#if defined(__CUDACC__)

template <class T, class Update>
void filter_rows(Cuda device, PaddedRows rows, FilterNodes<RealOf<T>> nodes, const T* filters,
                 const T* x, T* y, Update update) {
  using R = RealOf<T>;
  for_each(device, index_t{1}, rows.count, rows.length,
           [=] WEFT_KERNEL(index_t, index_t row, index_t k) {
             const T* from = x + row_offset(rows, row) + k;
             T sum{};
             Corner<R> corners[max_corners];
             for (index_t t = 0; t < nodes.taps; ++t) {
               if (nodes.shifts[t] < 0) continue;
               const int count = find_corners(rows, nodes, row, t, corners);
               const index_t at = k + nodes.places[3 * t + 2];
               const R weight = nodes.row.weight[at];
               const T* low = filters + nodes.row.lower[at] * nodes.row.stride;
               T tap = interpolate(corners, count, low);
               if (weight != R{}) {
                 tap = (1 - weight) * tap +
                       weight * interpolate(corners, count, low + nodes.row.stride);
               }
               sum = multiply_add(tap, from[nodes.shifts[t]], sum);
             }
             update(sum, y[row * rows.length + k]);
           });
}

#else

/// Elements that are summed together; their sums stay in the L1 cache.
constexpr index_t block_size = 1024;

/// Adds the products with a tap to the sums of elements [begin, end) of a row. Between nodes the
/// tap is a linear function of the position.
template <class T>
void add_tap(const FilterNodes<RealOf<T>>& nodes, index_t tap, const Corner<RealOf<T>>* corners,
             int count, const T* filters, const T* source, index_t begin, index_t end, T* sums) {
  const NodeAxis<RealOf<T>>& axis = nodes.row;
  const index_t ahead = nodes.places[3 * tap + 2];
  const RealOf<T>* weight = axis.weight + ahead;
  for (index_t k = begin; k < end;) {
    const index_t stop = std::min(end, axis.end[k + ahead] - ahead);
    const T* of_node = filters + axis.lower[k + ahead] * axis.stride;
    const T low = interpolate(corners, count, of_node);
    const T step = axis.count > 1 ? interpolate(corners, count, of_node + axis.stride) - low : T{};
#pragma omp simd
    for (index_t p = k; p < stop; ++p) {
      sums[p - begin] = multiply_add(low + weight[p] * step, source[p], sums[p - begin]);
    }
    k = stop;
  }
}

template <class T, class Update>
void filter_rows(Cpu, PaddedRows rows, FilterNodes<RealOf<T>> nodes, const T* filters, const T* x,
                 T* y, Update update) {
  const index_t pieces = (rows.length + block_size - 1) / block_size;
  const int threads = detail::threads_for(rows.count * rows.length * nodes.taps);
  detail::share_jobs(rows.count * pieces, threads, [=](index_t job) {
    const index_t row = job / pieces;
    const index_t begin = job % pieces * block_size;
    const index_t end = std::min(begin + block_size, rows.length);
    const T* from = x + row_offset(rows, row);
    T sums[block_size];
    std::fill_n(sums, end - begin, T{});
    Corner<RealOf<T>> corners[max_corners];
    for (index_t t = 0; t < nodes.taps; ++t) {
      if (nodes.shifts[t] < 0) continue;
      const int count = find_corners(rows, nodes, row, t, corners);
      add_tap(nodes, t, corners, count, filters, from + nodes.shifts[t], begin, end, sums);
    }
    T* to = y + row * rows.length;
#pragma omp simd
    for (index_t k = begin; k < end; ++k) update(sums[k - begin], to[k]);
  });
}

#endif

/// Elements of a row that are summed in the precision of T.
constexpr index_t dot_size = 512;

/// The weight of a node at a position of its support.
template <class R>
WEFT_FUNCTION R weight_at(const NodeAxis<R>& axis, index_t node, index_t at) {
  return axis.lower[at] == node ? 1 - axis.weight[at] : axis.weight[at];
}

/// The sum over [begin, end) of w conj(x) y.
template <class R>
WEFT_FUNCTION R weighted_dot(const NodeAxis<R>& axis, index_t node, index_t ahead, const R* x,
                             const R* y, index_t begin, index_t end) {
  R sum{};
#if !defined(__CUDACC__)
#pragma omp simd reduction(+ : sum)
#endif
  for (index_t k = begin; k < end; ++k) sum += weight_at(axis, node, k + ahead) * x[k] * y[k];
  return sum;
}
template <class R>
WEFT_FUNCTION Complex<R> weighted_dot(const NodeAxis<R>& axis, index_t node, index_t ahead,
                                      const Complex<R>* x, const Complex<R>* y, index_t begin,
                                      index_t end) {
  R re{};
  R im{};
#if !defined(__CUDACC__)
#pragma omp simd reduction(+ : re, im)
#endif
  for (index_t k = begin; k < end; ++k) {
    const R weight = weight_at(axis, node, k + ahead);
    re += weight * (x[k].re * y[k].re + x[k].im * y[k].im);
    im += weight * (x[k].re * y[k].im - x[k].im * y[k].re);
  }
  return {re, im};
}

/// The terms of the adjoint in the filters: for each filter element, one for each piece of a row in
/// the support of its node.
template <class T>
struct FilterTerms {
  using R = RealOf<T>;
  PaddedRows rows;
  FilterNodes<R> nodes;
  const T* x;
  const T* y;
  index_t boxes[max_dims];  // number of positions per axis of the rows' that a support has at most
  index_t pieces;           // of a row

  WEFT_FUNCTION index_t count() const {
    index_t product = pieces;
    for (int axis = 0; axis < rows.ndim; ++axis) product *= boxes[axis];
    return product;
  }

  /// Term `term` of an element of the array of filters [leading nodes and row nodes, taps].
  WEFT_FUNCTION T operator()(index_t element, index_t term) const {
    const index_t tap = element % nodes.taps;
    if (nodes.shifts[tap] < 0) return T{};
    index_t piece = term % pieces;
    term /= pieces;
    R weight{1};
    index_t offset = nodes.shifts[tap];
    index_t row = 0;
    index_t row_step = 1;
    for (int axis = rows.ndim - 1; axis >= 0; --axis) {
      index_t at = term % boxes[axis];
      term /= boxes[axis];
      for (int i = 0; i < nodes.leading; ++i) {
        if (nodes.axes[i].axis != axis) continue;
        const index_t node = element / nodes.axes[i].stride % nodes.axes[i].count;
        const index_t place = nodes.places[3 * tap + i];
        const index_t begin = nodes.axes[i].begins[node] - place;
        at += begin > 0 ? begin : 0;
        if (at >= rows.extents[axis] || at + place >= nodes.axes[i].ends[node]) return T{};
        weight *= weight_at(nodes.axes[i], node, at + place);
      }
      offset += at * rows.strides[axis];
      row += at * row_step;
      row_step *= rows.extents[axis];
    }
    const index_t node = element / nodes.row.stride % nodes.row.count;
    const index_t ahead = nodes.places[3 * tap + 2];
    const index_t first = nodes.row.begins[node] - ahead;
    const index_t last = nodes.row.ends[node] - ahead;
    const index_t begin = (first > 0 ? first : 0) + piece * dot_size;
    index_t end = last < rows.length ? last : rows.length;
    if (end > begin + dot_size) end = begin + dot_size;
    if (begin >= end) return T{};
    return weight *
           weighted_dot(nodes.row, node, ahead, x + offset, y + row * rows.length, begin, end);
  }
};

template <class T>
FilterTerms<T> terms_of(const PaddedRows& rows, const FilterNodes<RealOf<T>>& nodes, const T* x,
                        const T* y) {
  FilterTerms<T> terms{rows, nodes, x, y, {}, 0};
  for (int axis = 0; axis < rows.ndim; ++axis) terms.boxes[axis] = rows.extents[axis];
  for (int i = 0; i < nodes.leading; ++i) {
    index_t& box = terms.boxes[nodes.axes[i].axis];
    box = std::min(box, nodes.axes[i].widest);
  }
  terms.pieces = (std::min(rows.length, nodes.row.widest) + dot_size - 1) / dot_size;
  return terms;
}

#if defined(__CUDACC__)

template <class T, class Update>
void correlate(Cuda device, index_t elements, const FilterTerms<T>& terms, T* filters,
               Update update) {
  using Sum = SumOf<T>;
  reduce(
      device, elements, terms.count(), index_t{1}, Sum{},
      [=] WEFT_KERNEL(index_t element, index_t term, index_t) { return Sum(terms(element, term)); },
      Add{},
      [=] WEFT_KERNEL(index_t element, index_t, Sum sum) { update(T(sum), filters[element]); });
}

#else

template <class T, class Update>
void correlate(Cpu, index_t elements, const FilterTerms<T>& terms, T* filters, Update update) {
  const index_t count = terms.count();
  const int threads = detail::threads_for(terms.rows.count * terms.rows.length * terms.nodes.taps);
  detail::share_jobs(elements, threads, [=](index_t element) {
    SumOf<T> sum{};
    for (index_t term = 0; term < count; ++term) sum += SumOf<T>(terms(element, term));
    update(T(sum), filters[element]);
  });
}

#endif

}  // namespace

template <class Device, class T>
void apply_filter_bank(Device device, PaddedRows rows, FilterNodes<RealOf<T>> nodes,
                       const T* filters, T alpha, const T* x, T beta, T* y) {
  if (rows.count * rows.length == 0) return;
  with_update(alpha, beta,
              [&](auto update) { filter_rows(device, rows, nodes, filters, x, y, update); });
}

template <class Device, class T>
void correlate_filter_bank(Device device, PaddedRows rows, FilterNodes<RealOf<T>> nodes,
                           index_t elements, const T* x, T alpha, const T* y, T beta, T* filters) {
  const FilterTerms<T> terms = terms_of(rows, nodes, x, y);
  with_update(alpha, beta,
              [&](auto update) { correlate(device, elements, terms, filters, update); });
}

#define INSTANTIATE(T)                                                                            \
  template void apply_filter_bank(WEFT_THIS_DEVICE, PaddedRows, FilterNodes<RealOf<T>>, const T*, \
                                  T, const T*, T, T*);                                            \
  template void correlate_filter_bank(WEFT_THIS_DEVICE, PaddedRows, FilterNodes<RealOf<T>>,       \
                                      index_t, const T*, T, const T*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
