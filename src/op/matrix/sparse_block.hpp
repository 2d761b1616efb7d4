#pragma once

#include <weft/core/parallel.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/operator_node.hpp>

#include "op/matrix/sparse_kernels.hpp"
#include "op/matrix/sparse_rows.hpp"
#include "op/to_device.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft::detail {

/// Rows of a sparse matrix in the memory of a device, with 32-bit indices if they fit.
template <Scalar T>
class SparseBlock {
 public:
  /// `numbers` are the places of the rows in the product; empty for 0, 1, 2, ...
  SparseBlock(const CsrMatrix<T>& rows, index_t columns, Device device,
              const std::vector<index_t>& numbers = {})
      : rows_(rows.rows()),
        is_narrow_(
            std::max({std::ssize(rows.values), columns, numbers.empty() ? 0 : numbers.back()}) <=
            std::numeric_limits<std::int32_t>::max()),
        values_(to_device<T>(rows.values, device)) {
    if (is_narrow_) {
      narrow_ = Indices<std::int32_t>(rows, numbers, device);
    } else {
      wide_ = Indices<index_t>(rows, numbers, device);
    }
    plan_pieces(rows.row_begins);
  }

  /// y = alpha A x + beta y, or with the conjugate of A.
  void multiply(bool conjugate, Update<T> update, const T* x, T* y) const {
    if (is_narrow_) {
      multiply_by(narrow_, conjugate, update, x, y);
    } else {
      multiply_by(wide_, conjugate, update, x, y);
    }
  }
  index_t entries() const { return values_.size(); }
  /// Bytes of indices and values.
  double bytes() const {
    const std::size_t index = is_narrow_ ? sizeof(std::int32_t) : sizeof(index_t);
    return static_cast<double>(entries()) * static_cast<double>(sizeof(T) + index) +
           static_cast<double>(rows_) * static_cast<double>(index);
  }

 private:
  template <class I>
  struct Indices {
    Indices() = default;
    Indices(const CsrMatrix<T>& rows, const std::vector<index_t>& numbers_of, Device device)
        : begins(converted(rows.row_begins, device)),
          columns(converted(rows.columns, device)),
          numbers(converted(numbers_of, device)) {}
    static Buffer<I> converted(const std::vector<index_t>& indices, Device device) {
      const std::vector<I> narrowed(indices.begin(), indices.end());
      return to_device<I>(narrowed, device);
    }
    Buffer<I> begins;
    Buffer<I> columns;
    Buffer<I> numbers;
  };

  /// Divides the rows for the threads; a row costs about as much as one entry more than it has.
  void plan_pieces(const std::vector<index_t>& begins) {
    const index_t pieces =
        max_threads() == 1 ? 1 : std::min<index_t>(rows_, many_jobs * max_threads());
    index_t row = 0;
    for (index_t piece = 0; piece < pieces; ++piece) {
      const double goal = static_cast<double>(begins.back() + rows_) * static_cast<double>(piece) /
                          static_cast<double>(pieces);
      while (static_cast<double>(begins[static_cast<std::size_t>(row)] + row) < goal) ++row;
      pieces_.push_back(row);
    }
    pieces_.push_back(rows_);
  }

  template <class I>
  void multiply_by(const Indices<I>& indices, bool conjugate, Update<T> update, const T* x,
                   T* y) const {
    const kernels::SparseRowsView<KernelType<T>, I> view{
        .rows = rows_,
        .begins = indices.begins.data(),
        .columns = indices.columns.data(),
        .values = kernel_cast(values_.data()),
        .numbers = indices.numbers.size() == 0 ? nullptr : indices.numbers.data(),
        .pieces = pieces_.data(),
        .piece_count = std::ssize(pieces_) - 1};
    dispatch(values_.device(), [&](auto device) {
      kernels::multiply_rows(device, view, conjugate, kernel_value(update.alpha), kernel_cast(x),
                             kernel_value(update.beta), kernel_cast(y));
    });
  }

  index_t rows_;
  bool is_narrow_;
  Buffer<T> values_;
  Indices<std::int32_t> narrow_;
  Indices<index_t> wide_;
  std::vector<index_t> pieces_;
};

}  // namespace weft::detail
