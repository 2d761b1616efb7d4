#include "op/windows/window_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_math.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

WEFT_FUNCTION index_t smaller(index_t a, index_t b) { return a < b ? a : b; }
WEFT_FUNCTION index_t larger(index_t a, index_t b) { return a > b ? a : b; }

/// The windows of this rank, counted from its first, that contain elements of [begin, end).
struct WindowRange {
  index_t first;
  index_t end;

  template <class W>
  WEFT_FUNCTION WindowRange(const WindowAxis<W>& axis, index_t begin_at, index_t end_at) {
    // Window i contains elements if i * step < end and i * step + window > begin.
    const index_t after = begin_at - axis.window;
    first = larger(after < 0 ? 0 : after / axis.step + 1, axis.first) - axis.first;
    end = smaller((end_at - 1) / axis.step + 1, axis.first + axis.count) - axis.first;
  }
};

template <class W>
WEFT_FUNCTION const W* weights_of(const WindowAxis<W>& axis, index_t number) {
  if (axis.weights == nullptr) return nullptr;
  const int variant =
      (axis.first + number == 0 ? 1 : 0) + (axis.first + number == axis.total - 1 ? 2 : 0);
  return axis.weights + variant * axis.window;
}

/// The window of every axis but the last, for a row of elements along the last.
template <class W>
struct RowCover {
  index_t first[max_dims] = {};
  index_t end[max_dims] = {};
  index_t number[max_dims] = {};
  index_t position[max_dims] = {};

  /// Advances to the next combination of windows; false after the last one.
  WEFT_FUNCTION bool next(int axes) {
    for (int axis = axes - 1; axis >= 0; --axis) {
      if (++number[axis] < end[axis]) return true;
      number[axis] = first[axis];
    }
    return false;
  }
  WEFT_FUNCTION W weight(const WindowGrid<W>& grid) const {
    W product = 1;
    for (int axis = 0; axis + 1 < grid.ndim; ++axis) {
      const WindowAxis<W>& along = grid.axes[axis];
      const W* weights = weights_of(along, number[axis]);
      if (weights != nullptr)
        product *= weights[position[axis] - (along.first + number[axis]) * along.step];
    }
    return product;
  }
  WEFT_FUNCTION index_t offset(const WindowGrid<W>& grid) const {
    index_t offset = 0;
    for (int axis = 0; axis + 1 < grid.ndim; ++axis) {
      const WindowAxis<W>& along = grid.axes[axis];
      const index_t start = (along.first + number[axis]) * along.step;
      offset +=
          number[axis] * along.window_stride + (position[axis] - start) * along.element_stride;
    }
    return offset;
  }
};

/// y[p] += factor * weights[p] * x[p] for p < count; weights may be null.
template <class T, class W>
WEFT_FUNCTION void add_weighted(index_t count, T factor, const W* __restrict__ weights,
                                const T* __restrict__ x, T* __restrict__ y) {
  if (weights == nullptr) {
    for (index_t p = 0; p < count; ++p) y[p] += factor * x[p];
  } else {
    for (index_t p = 0; p < count; ++p) y[p] += factor * (weights[p] * x[p]);
  }
}

/// Elements [begin, end) of a row of the box.
template <class T>
struct AddRow {
  using W = RealOf<T>;
  WindowGrid<W> grid;
  const T* windows;
  T alpha;
  T beta;
  DataBox<T> box;

  WEFT_FUNCTION void operator()(index_t row, index_t begin, index_t end) const {
    const int last = grid.ndim - 1;
    RowCover<W> cover;
    T* y = box.data + begin;
    for (int axis = last - 1; axis >= 0; --axis) {
      const index_t at = row % box.extent[axis];
      row /= box.extent[axis];
      y += at * box.stride[axis];
      cover.position[axis] = box.begin[axis] + at;
    }
    for (index_t p = 0; p < end - begin; ++p) y[p] = is_nonzero(beta) ? beta * y[p] : T{};
    for (int axis = 0; axis < last; ++axis) {
      const index_t position = cover.position[axis];
      const WindowRange range(grid.axes[axis], position, position + 1);
      if (range.first >= range.end) return;
      cover.number[axis] = cover.first[axis] = range.first;
      cover.end[axis] = range.end;
    }
    const index_t from = box.begin[last] + begin;
    do {
      add_windows(windows + cover.offset(grid), cover.weight(grid) * alpha, from,
                  from + end - begin, y);
    } while (cover.next(last));
  }

 private:
  /// Adds all windows along the last axis; y points to element `from`.
  WEFT_FUNCTION void add_windows(const T* x, T factor, index_t from, index_t to, T* y) const {
    const WindowAxis<W>& axis = grid.axes[grid.ndim - 1];
    const WindowRange range(axis, from, to);
    for (index_t number = range.first; number < range.end; ++number) {
      const index_t start = (axis.first + number) * axis.step;
      const index_t begin = larger(from, start);
      const index_t end = smaller(to, start + axis.window);
      const W* weights = weights_of(axis, number);
      add_weighted(end - begin, factor, weights == nullptr ? weights : weights + (begin - start),
                   x + number * axis.window_stride + (begin - start), y + (begin - from));
    }
  }
};

/// Elements [begin, end) of a row along the last axis of a window.
template <class T>
struct ExtractRow {
  using W = RealOf<T>;
  WindowGrid<W> grid;
  DataBox<const T> box;
  T* windows;
  index_t first[max_dims] = {};  // of the windows that may have elements of the box
  index_t count[max_dims] = {};

  WEFT_FUNCTION void operator()(index_t row, index_t begin, index_t end) const {
    const int last = grid.ndim - 1;
    RowCover<W> cover;
    const T* x = box.data;
    for (int axis = last - 1; axis >= 0; --axis) {
      cover.position[axis] = row % grid.axes[axis].window;
      row /= grid.axes[axis].window;
    }
    for (int axis = last; axis >= 0; --axis) {
      const WindowAxis<W>& along = grid.axes[axis];
      cover.number[axis] = first[axis] + row % count[axis];
      row /= count[axis];
      if (axis == last) continue;
      cover.position[axis] += (along.first + cover.number[axis]) * along.step;
      const index_t at = cover.position[axis] - box.begin[axis];
      if (at < 0 || at >= box.extent[axis]) return;
      x += at * box.stride[axis];
    }
    const WindowAxis<W>& axis = grid.axes[last];
    const index_t start = (axis.first + cover.number[last]) * axis.step - box.begin[last];
    const index_t from = larger(begin, -start);
    const index_t to = smaller(end, box.extent[last] - start);
    copy(to - from, cover.weight(grid), shifted(weights_of(axis, cover.number[last]), from),
         x + (start + from),
         windows + cover.offset(grid) + cover.number[last] * axis.window_stride + from);
  }

 private:
  WEFT_FUNCTION static const W* shifted(const W* weights, index_t by) {
    return weights == nullptr ? weights : weights + by;
  }
  WEFT_FUNCTION static void copy(index_t n, W factor, const W* __restrict__ weights,
                                 const T* __restrict__ x, T* __restrict__ out) {
    if (weights == nullptr) {
      for (index_t p = 0; p < n; ++p) out[p] = factor * x[p];
    } else {
      for (index_t p = 0; p < n; ++p) out[p] = factor * (weights[p] * x[p]);
    }
  }
};

#if defined(__CUDACC__)

/// A thread per element.
template <class Row>
void visit_rows(Cuda device, index_t rows, index_t length, Row row) {
  for_each(device, rows, length, 1,
           [=] WEFT_KERNEL(index_t number, index_t at, index_t) { row(number, at, at + 1); });
}

#else

/// Pieces of rows that stay in the L1 cache while windows are added to them.
template <class Row>
void visit_rows(Cpu, index_t rows, index_t length, const Row& row) {
  constexpr index_t piece = 1024;
  if (length == 0) return;
  detail::share_rows(rows, length, detail::threads_for(rows * length),
                     [&row](index_t number, index_t begin, index_t end) {
                       for (index_t at = begin; at < end; at += piece)
                         row(number, at, std::min(at + piece, end));
                     });
}

#endif

}  // namespace

template <class Device, class T>
void overlap_add(Device device, const WindowGrid<RealOf<T>>& grid, const T* windows, T alpha,
                 T beta, const DataBox<T>& box) {
  index_t rows = 1;
  for (int axis = 0; axis + 1 < grid.ndim; ++axis) rows *= box.extent[axis];
  visit_rows(device, rows, box.extent[grid.ndim - 1], AddRow<T>{grid, windows, alpha, beta, box});
}

template <class Device, class T>
void extract_windows(Device device, const WindowGrid<RealOf<T>>& grid, const DataBox<const T>& box,
                     T* windows) {
  ExtractRow<T> extract{grid, box, windows};
  index_t rows = 1;
  for (int axis = 0; axis < grid.ndim; ++axis) {
    const WindowRange range(grid.axes[axis], box.begin[axis], box.begin[axis] + box.extent[axis]);
    if (box.extent[axis] == 0 || range.first >= range.end) return;
    extract.first[axis] = range.first;
    extract.count[axis] = range.end - range.first;
    rows *= extract.count[axis];
    if (axis + 1 < grid.ndim) rows *= grid.axes[axis].window;
  }
  visit_rows(device, rows, grid.axes[grid.ndim - 1].window, extract);
}

#define INSTANTIATE(T)                                                                      \
  template void overlap_add(WEFT_THIS_DEVICE, const WindowGrid<RealOf<T>>&, const T*, T, T, \
                            const DataBox<T>&);                                             \
  template void extract_windows(WEFT_THIS_DEVICE, const WindowGrid<RealOf<T>>&,             \
                                const DataBox<const T>&, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
