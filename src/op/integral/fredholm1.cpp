#include <weft/op/integral/fredholm1.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "op/matrix/gemm.hpp"

namespace weft {
namespace {

using detail::MatrixForm;

template <Scalar T>
class Fredholm1 final : public OperatorNode<T> {
 public:
  Fredholm1(DistributedArray<T> kernel, const Layout& domain, const Layout& range, index_t nz,
            bool replicated)
      : OperatorNode<T>(fmt::format("fredholm1 by {}", to_string(kernel.shape())), domain, range),
        kernel_(std::move(kernel)),
        nz_(nz),
        first_(replicated ? kernel_.offset()[0] : 0) {
    if (!replicated || !kernel_.layout().is_cut(0)) return;
    gather_comm_ = kernel_.layout().line_comm(0);
    model_parts_ = parts(kernel_.shape()[2]);
    data_parts_ = parts(kernel_.shape()[1]);
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    multiply(MatrixForm::plain, update, x, y, data_parts_);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    multiply(MatrixForm::adjoint, update, y, x, model_parts_);
  }
  Cost cost() const override {
    const detail::GemmSize of = size(MatrixForm::plain);
    const auto elements = of.batch * (of.m * of.k + of.n * (of.m + of.k));
    return {.flops = detail::gemm_flops<T>(of),
            .bytes = static_cast<double>(elements) * sizeof(T),
            .messages = gather_comm_ ? 1.0 : 0.0};
  }

 private:
  /// How an array of `rows` rows per slice is divided among ranks.
  Parts parts(index_t rows) const {
    const auto splits = kernel_.layout().splits(0);
    std::vector<index_t> counts;
    for (std::size_t i = 1; i < splits.size(); ++i) {
      counts.push_back((splits[i] - splits[i - 1]) * rows * nz_);
    }
    return Parts(std::move(counts));
  }
  detail::GemmSize size(MatrixForm form) const {
    const Shape& shape = kernel_.local_shape();
    if (form == MatrixForm::plain) return {shape[1], nz_, shape[2], shape[0]};
    return {shape[2], nz_, shape[1], shape[0]};
  }
  void multiply(MatrixForm form, Update<T> update, const ConstArrayView<T>& x,
                const ArrayView<T>& y, const Parts& gathered) const {
    const detail::GemmSize of = size(form);
    const index_t in = of.k * nz_;
    const index_t out = of.m * nz_;
    const index_t row = kernel_.shape()[2];
    T* mine = y.data() + first_ * out;
    detail::gemm<T>(y.device(), form, of, update.alpha,
                    {kernel_.data(), row, kernel_.shape()[1] * row},
                    {x.data() + first_ * in, nz_, in}, update.beta, {mine, nz_, out});
    if (!gather_comm_) return;
    gather_comm_->all_gather_v(ConstBufferRef(mine, of.batch * out, y.device()),
                               BufferRef(y.data(), y.local_count(), y.device()), gathered);
  }

  DistributedArray<T> kernel_;
  index_t nz_;
  index_t first_;  // position of this rank's slices in its model and data
  std::optional<Comm> gather_comm_;
  Parts model_parts_;
  Parts data_parts_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> fredholm1(DistributedArray<T> kernel, const Fredholm1Options& options) {
  const Layout layout = kernel.layout();
  detail::agree_on_plan(
      "fredholm1", {&layout}, dtype_of<T>,
      fmt::format("nz {}{}", options.nz, options.replicated ? ", replicated" : ""));
  require(!layout.is_stack() && layout.ndim() == 3,
          "fredholm1: expected a kernel with three axes (slices, nx, ny), but G is {}",
          to_string(layout));
  require(options.nz >= 0, "fredholm1: nz must not be negative, got {}", options.nz);
  const Shape& shape = layout.shape();
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    const Shape& local = layout.box(rank).shape;
    require(local[1] == shape[1] && local[2] == shape[2],
            "fredholm1: G may be distributed along its slices only, but is {}", to_string(layout));
  }
  const auto vectors = [&](index_t rows) {
    const Shape global{shape[0], rows, options.nz};
    if (options.replicated) return replicated_like(layout, global);
    const auto uncut = [](index_t extent) {
      return [=](std::span<const index_t>) -> std::vector<index_t> { return {0, extent}; };
    };
    return recut(recut(layout, 1, uncut(rows)), 2, uncut(options.nz));
  };
  const Layout domain = vectors(shape[2]);
  const Layout range = vectors(shape[1]);
  return make_operator<Fredholm1<T>>(std::move(kernel), domain, range, options.nz,
                                     options.replicated);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> fredholm1(DistributedArray<T>, const Fredholm1Options&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
