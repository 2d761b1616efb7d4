#pragma once

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// Rows of a sparse matrix on a device, with indices of type I.
template <class T, class I>
struct SparseRowsView {
  index_t rows = 0;
  const I* begins = nullptr;  // [rows + 1]
  const I* columns = nullptr;
  const T* values = nullptr;
  const I* numbers = nullptr;  // of the rows in y; null for 0, 1, 2, ...
  /// For the threads of the CPU: pieces of about equal work begin at these rows, in host memory.
  const index_t* pieces = nullptr;  // [piece_count + 1]
  index_t piece_count = 0;
};

/// y[number] = alpha (row . x) + beta y[number] for all rows, or with the conjugate of the rows.
/// With beta = 0, y is not read.
template <class Device, class T, class I>
void multiply_rows(Device device, const SparseRowsView<T, I>& a, bool conjugate, T alpha,
                   const T* x, T beta, T* y);

/// out[i] = x[places[i]] for i < n.
template <class Device, class T>
void gather_elements(Device device, index_t n, const index_t* places, const T* x, T* out);
/// x[places[i]] += alpha values[i] for i < n; places are distinct.
template <class Device, class T>
void add_elements(Device device, index_t n, const index_t* places, T alpha, const T* values, T* x);

}  // namespace weft::kernels
