// Products with matrices whose blocks stay on their ranks: local products by gemm.hpp,
// communication by matrix_side.hpp.

#include <weft/op/matrix/matrix_mult.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_extents.hpp"
#include "op/checks.hpp"
#include "op/matrix/gemm.hpp"
#include "op/matrix/matrix_side.hpp"

#include <set>

namespace weft {
namespace {

using detail::MatrixForm;
using detail::MatrixSide;

template <Scalar T>
class MatrixMult final : public OperatorNode<T> {
 public:
  /// Multiplies by this rank's block of A along the middle axis of [outer, columns of the block,
  /// inner].
  MatrixMult(DistributedArray<T> matrix, const Layout& domain, const Layout& range, index_t outer,
             index_t inner, MatrixSide<T> model, MatrixSide<T> data)
      : OperatorNode<T>(fmt::format("matrix_mult by {}", to_string(matrix.shape())), domain, range),
        matrix_(std::move(matrix)),
        outer_(outer),
        inner_(inner),
        model_(std::move(model)),
        data_(std::move(data)) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    const T* in = model_.gather(x);
    data_.reduce_into(y, update, [&](T alpha, T beta, T* out) {
      multiply(MatrixForm::plain, alpha, in, beta, out);
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    const T* in = data_.gather(y);
    model_.reduce_into(x, update, [&](T alpha, T beta, T* out) {
      multiply(MatrixForm::adjoint, alpha, in, beta, out);
    });
  }
  Cost cost() const override {
    return cost_with(model_.gather_messages() + data_.reduce_messages());
  }
  Cost adjoint_cost() const override {
    return cost_with(data_.gather_messages() + model_.reduce_messages());
  }

 private:
  detail::GemmSize size(MatrixForm form) const {
    const index_t rows = matrix_.local_shape()[0];
    const index_t columns = matrix_.local_shape()[1];
    if (form == MatrixForm::plain) return {rows, inner_, columns, outer_};
    return {columns, inner_, rows, outer_};
  }
  void multiply(MatrixForm form, T alpha, const T* in, T beta, T* out) const {
    const detail::GemmSize of = size(form);
    detail::gemm<T>(matrix_.device(), form, of, alpha, {matrix_.data(), matrix_.local_shape()[1]},
                    {in, inner_, of.k * inner_}, beta, {out, inner_, of.m * inner_});
  }
  Cost cost_with(int messages) const {
    const detail::GemmSize of = size(MatrixForm::plain);
    const auto elements = of.m * of.k + of.batch * of.n * (of.m + of.k);
    return {.flops = detail::gemm_flops<T>(of),
            .bytes = static_cast<double>(elements) * sizeof(T),
            .messages = static_cast<double>(messages)};
  }

  DistributedArray<T> matrix_;
  index_t outer_;
  index_t inner_;
  mutable MatrixSide<T> model_;
  mutable MatrixSide<T> data_;
};

void require_matrix(const Layout& layout) {
  require(!layout.is_stack() && layout.ndim() == 2,
          "matrix_mult: expected a matrix with two axes, but A is {}", to_string(layout));
}

/// A layout whose first axis is distributed as an axis of A. Ranks at the same position along that
/// axis have copies of the same part.
Layout vectors_along(const Layout& matrix, int axis, const Shape& shape) {
  const int ranks = matrix.comm().size();
  std::vector<index_t> extents;
  std::vector<int> lines;
  bool is_replicated = true;
  for (int rank = 0; rank < ranks; ++rank) {
    extents.push_back(matrix.box(rank).shape[axis]);
    lines.push_back(matrix.group(rank) * ranks +
                    static_cast<int>(matrix.coordinates(rank)[1 - axis]));
    is_replicated = is_replicated && extents.back() == shape[0];
  }
  if (is_replicated) return replicated_like(matrix, shape);
  if (std::set<int>(lines.begin(), lines.end()).size() == 1) {
    return Layout::scatter(matrix.comm(), shape, 0, extents).on(matrix.device());
  }
  return Layout::scatter(matrix.comm(), shape).on(matrix.device()).within(lines, extents);
}

/// The shape [extent, other...].
Shape with_first(index_t extent, const Shape& other) {
  std::vector<index_t> extents{extent};
  extents.insert(extents.end(), other.begin(), other.end());
  return Shape(Index(extents));
}

}  // namespace

template <Scalar T>
LinearOperator<T> matrix_mult(DistributedArray<T> matrix, const MatrixMultOptions& options) {
  const Layout layout = matrix.layout();
  detail::agree_on_plan("matrix_mult", {&layout}, dtype_of<T>,
                        fmt::format("other axes {}{}", to_string(options.other),
                                    options.scattered ? ", scattered" : ""));
  require_matrix(layout);
  const auto make = [&](const Layout& domain, const Layout& range, MatrixSide<T> model,
                        MatrixSide<T> data) {
    return make_operator<MatrixMult<T>>(std::move(matrix), domain, range, 1, options.other.count(),
                                        std::move(model), std::move(data));
  };
  const Shape model = with_first(layout.shape()[1], options.other);
  const Shape data = with_first(layout.shape()[0], options.other);
  const Comm row = layout.line_comm(1);
  const Comm column = layout.line_comm(0);
  const Layout domain = vectors_along(layout, 1, model);
  const Layout range = vectors_along(layout, 0, data);
  if (!options.scattered) return make(domain, range, MatrixSide<T>(column), MatrixSide<T>(row));

  const int ranks = layout.comm().size();
  require(layout.grid()[0] == ranks || layout.grid()[1] == ranks,
          "matrix_mult: scattered requires a matrix distributed along one axis over all ranks, but "
          "A is {}",
          to_string(layout));
  const auto even = [&](const Shape& shape) {
    return Layout::scatter(layout.comm(), shape).on(layout.device());
  };
  if (layout.is_cut(0)) {
    return make(even(model), range, MatrixSide<T>(column, even(model)), MatrixSide<T>(row));
  }
  return make(domain, even(data), MatrixSide<T>(column), MatrixSide<T>(row, even(data)));
}

template <Scalar T>
LinearOperator<T> matrix_mult(DistributedArray<T> matrix, const Layout& model,
                              const MatrixMultAlongOptions& options) {
  const Layout layout = matrix.layout();
  require_matrix(layout);
  const int axis = normalize_axis(options.axis, model.ndim(), "matrix_mult");
  require(layout.comm().size() == 1 || (layout.is_replicated() && layout.comm() == model.comm()),
          "matrix_mult along axis {}: every rank needs the whole matrix: {}", axis,
          detail::difference("A is", layout, "the model is", model));
  require(layout.shape()[1] == model.shape()[axis] && layout.device() == model.device(),
          "matrix_mult along axis {}: {}", axis,
          detail::difference("A is", layout, "the model is", model));
  for (int rank = 0; rank < model.comm().size(); ++rank) {
    require(model.box(rank).shape[axis] == model.shape()[axis],
            "matrix_mult along axis {}: the axis is distributed, the model is {}; redistribute the "
            "model, or distribute the matrix along its columns",
            axis, to_string(model));
  }
  const Layout range = recut(model, axis, [&](std::span<const index_t>) -> std::vector<index_t> {
    return {0, layout.shape()[0]};
  });
  const detail::AxisExtents extents(model.box().shape, axis);
  return make_operator<MatrixMult<T>>(std::move(matrix), model, range, extents.outer, extents.inner,
                                      MatrixSide<T>(Comm::self()), MatrixSide<T>(Comm::self()));
}

#define INSTANTIATE(T)                                                                   \
  template LinearOperator<T> matrix_mult(DistributedArray<T>, const MatrixMultOptions&); \
  template LinearOperator<T> matrix_mult(DistributedArray<T>, const Layout&,             \
                                         const MatrixMultAlongOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
