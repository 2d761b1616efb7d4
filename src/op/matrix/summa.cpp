// The SUMMA algorithm: products with panels of a matrix distributed along both axes, local products
// by gemm.hpp.

#include <weft/op/matrix/matrix_mult.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/plan_agreement.hpp"
#include "op/matrix/gemm.hpp"
#include "op/peers.hpp"
#include "op/scaling.hpp"

namespace weft {
namespace {

using detail::has_peers;
using detail::Matrices;
using detail::MatrixForm;

/// Columns of A and the matching rows of the model, such that one column of ranks owns the former
/// and one row of ranks the latter.
struct Panel {
  index_t width;
  int column;            // column of ranks that owns the columns of A
  index_t first_column;  // position of the first among its columns
  int row;               // row of ranks that owns the rows of the model
  index_t first_row;     // position of the first among its rows
};

/// The panels for given splits of A's columns and of the model's rows.
std::vector<Panel> panels_of(std::span<const index_t> columns, std::span<const index_t> rows) {
  std::vector<Panel> panels;
  index_t first = 0;
  for (std::size_t column = 0, row = 0; first < columns.back();) {
    while (columns[column + 1] <= first) ++column;
    while (rows[row + 1] <= first) ++row;
    const index_t last = std::min(columns[column + 1], rows[row + 1]);
    panels.push_back({last - first, static_cast<int>(column), first - columns[column],
                      static_cast<int>(row), first - rows[row]});
    first = last;
  }
  return panels;
}

template <Scalar T>
class Summa final : public OperatorNode<T> {
 public:
  Summa(DistributedArray<T> matrix, const Layout& domain, const Layout& range)
      : OperatorNode<T>(fmt::format("summa by {}", to_string(matrix.shape())), domain, range),
        matrix_(std::move(matrix)),
        row_comm_(matrix_.layout().line_comm(1)),
        column_comm_(matrix_.layout().line_comm(0)),
        row_(static_cast<int>(matrix_.layout().coordinates(matrix_.comm().rank())[0])),
        column_(static_cast<int>(matrix_.layout().coordinates(matrix_.comm().rank())[1])),
        rows_(matrix_.local_shape()[0]),
        columns_(range.box().shape[1]),
        panels_(panels_of(matrix_.layout().splits(1), domain.splits(0))) {
    index_t widest = 0;
    for (const Panel& panel : panels_) widest = std::max(widest, panel.width);
    if (has_peers(row_comm_)) matrix_panel_ = Buffer<T>(rows_ * widest, matrix_.device());
    if (has_peers(column_comm_)) model_panel_ = Buffer<T>(widest * columns_, matrix_.device());
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (panels_.empty()) detail::scale_or_clear(update.beta, y);
    for (const Panel& panel : panels_) {
      const Matrices<const T> a = broadcast_columns(panel);
      const T* b = broadcast_rows(panel, x);
      detail::gemm<T>(y.device(), MatrixForm::plain, {rows_, columns_, panel.width}, update.alpha,
                      a, {b, columns_}, update.beta, {y.data(), columns_});
      update.beta = T{1};
    }
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    for (const Panel& panel : panels_) {
      const Matrices<const T> a = broadcast_columns(panel);
      const bool mine = panel.row == row_;
      T* out = mine ? x.data() + panel.first_row * columns_ : model_panel_.data();
      detail::gemm<T>(x.device(), MatrixForm::adjoint, {panel.width, columns_, rows_}, update.alpha,
                      a, {y.data(), columns_}, mine ? update.beta : T{}, {out, columns_});
      if (!has_peers(column_comm_)) continue;
      const BufferRef sum(out, panel.width * columns_, x.device());
      column_comm_.reduce(sum, mine ? sum : BufferRef(), ReduceOp::sum, panel.row);
    }
  }
  Cost cost() const override {
    const detail::GemmSize size{rows_, columns_, matrix_.shape()[1]};
    const auto elements = rows_ * size.k + size.k * columns_ +
                          rows_ * columns_ * static_cast<index_t>(panels_.size());
    const int lines = (has_peers(row_comm_) ? 1 : 0) + (has_peers(column_comm_) ? 1 : 0);
    return {.flops = detail::gemm_flops<T>(size),
            .bytes = static_cast<double>(elements) * sizeof(T),
            .messages = static_cast<double>(panels_.size()) * lines};
  }

 private:
  Matrices<const T> broadcast_columns(const Panel& panel) const {
    const index_t row = matrix_.local_shape()[1];
    const T* mine = matrix_.data() + panel.first_column;
    if (!has_peers(row_comm_)) return {mine, row};
    const bool is_root = panel.column == column_;
    const bool is_whole_block = is_root && panel.width == row;
    if (is_root && !is_whole_block) {
      dispatch(matrix_.device(), [&](auto device) {
        kernels::copy_box(device, Shape{rows_, panel.width}, kernel_cast(mine), Index{row, 1},
                          kernel_cast(matrix_panel_.data()), Index{panel.width, 1});
      });
    }
    const T* from = is_whole_block ? mine : matrix_panel_.data();
    broadcast(row_comm_, from, matrix_panel_.data(), rows_ * panel.width, panel.column);
    return {from, panel.width};
  }
  const T* broadcast_rows(const Panel& panel, const ConstArrayView<T>& x) const {
    const T* mine = x.data() + panel.first_row * columns_;
    if (!has_peers(column_comm_)) return mine;
    broadcast(column_comm_, mine, model_panel_.data(), panel.width * columns_, panel.row);
    return panel.row == row_ ? mine : model_panel_.data();
  }
  /// Broadcasts `from` of the root to `to` of the other ranks.
  void broadcast(const Comm& comm, const T* from, T* to, index_t count, int root) const {
    comm.broadcast(ConstBufferRef(from, count, matrix_.device()),
                   BufferRef(to, count, matrix_.device()), root);
  }

  DistributedArray<T> matrix_;
  Comm row_comm_;
  Comm column_comm_;
  int row_;  // of this rank in the grid
  int column_;
  index_t rows_;     // of this rank's part of A and of the data
  index_t columns_;  // of its part of the model and of the data
  std::vector<Panel> panels_;
  mutable Buffer<T> matrix_panel_;  // received, or packed to be sent
  mutable Buffer<T> model_panel_;   // received, or this rank's part of a sum
};

}  // namespace

template <Scalar T>
LinearOperator<T> summa(DistributedArray<T> matrix, const SummaOptions& options) {
  const Layout layout = matrix.layout();
  detail::agree_on_plan("summa", {&layout}, dtype_of<T>,
                        fmt::format("{} columns", options.columns));
  require(!layout.is_stack() && layout.ndim() == 2,
          "summa: expected a matrix with two axes, but A is {}", to_string(layout));
  require(options.columns >= 0, "summa: columns must not be negative, got {}", options.columns);
  const Layout range = recut_evenly(layout, 1, options.columns);
  const Layout domain = recut_evenly(range, 0, layout.shape()[1]);
  return make_operator<Summa<T>>(std::move(matrix), domain, range);
}

#define INSTANTIATE(T) template LinearOperator<T> summa(DistributedArray<T>, const SummaOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
