#include <weft/op/wavelet/swt.hpp>

#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_extents.hpp"
#include "op/axis_layout.hpp"
#include "op/wavelet/channel_bank.hpp"
#include "op/wavelet/levels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

using detail::ChannelBank;

/// The transform along an axis that is not distributed and whose extent is a multiple of 2^levels.
/// With dilation d, the rows k, k + d, k + 2d, ... of a level are lines of n / d elements: the axis
/// is two axes, and the second one belongs to `inner`.
template <Scalar T>
class LocalSwt final : public OperatorNode<T> {
  using K = KernelType<T>;

 public:
  LocalSwt(const Layout& layout, int axis, int levels, const detail::WaveletFilters& filters)
      : OperatorNode<T>(
            fmt::format("swt of axis {}, {} levels", axis, levels), layout,
            Layout::stack(std::vector<Layout>(static_cast<std::size_t>(levels) + 1, layout))),
        extents_(layout.box().shape, axis),
        scratch_{DistributedArray<T>(layout, uninitialized),
                 DistributedArray<T>(layout, uninitialized)} {
    const std::vector<detail::BankTerm> terms = detail::stationary_bank(filters);
    for (int level = 0; level < levels; ++level) {
      const index_t rows = extents_.n >> level;
      analysis_.emplace_back(terms, 1, 2, rows, layout.device());
      synthesis_.emplace_back(detail::transposed(terms), 2, 1, rows, layout.device());
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    const K* line = kernel_cast(x.data());
    for (std::size_t level = 0; level < analysis_.size(); ++level) {
      const bool is_last = level + 1 == analysis_.size();
      const auto approximations =
          is_last ? output(level, y.data(), update) : output(level, scratch_[level % 2].data(), {});
      analysis_[level].template apply<1, 2>(
          extents_.outer, inner(level), {input(level, line)},
          {approximations, output(level, y.data() + details(level), update)});
      line = approximations.y;
    }
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    const K* line = kernel_cast(y.data());
    for (std::size_t level = synthesis_.size(); level-- > 0;) {
      const auto result = level == 0 ? output(level, x.data(), update)
                                     : output(level, scratch_[level % 2].data(), {});
      synthesis_[level].template apply<2, 1>(
          extents_.outer, inner(level),
          {input(level, line), input(level, kernel_cast(y.data() + details(level)))}, {result});
      line = result.y;
    }
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->domain().local_count() * std::ssize(analysis_));
    index_t taps = 0;
    for (const ChannelBank<T>& bank : analysis_) taps = std::max(taps, bank.taps());
    return {.flops = elements * 4 * static_cast<double>(taps) * (is_complex<T> ? 2 : 1),
            .bytes = 3 * sizeof(T) * elements};
  }

 private:
  index_t inner(std::size_t level) const { return extents_.inner << level; }
  /// Where the details of a level begin: the last array of the stack is that of the first level.
  index_t details(std::size_t level) const {
    return (std::ssize(analysis_) - static_cast<index_t>(level)) * this->domain().local_count();
  }
  kernels::BankInput<K> input(std::size_t level, const K* x) const {
    return {x, extents_.n * extents_.inner, inner(level)};
  }
  kernels::BankOutput<K> output(std::size_t level, T* y, Update<T> update) const {
    return {kernel_cast(y), extents_.n * extents_.inner, inner(level), kernel_value(update.alpha),
            kernel_value(update.beta)};
  }

  detail::AxisExtents extents_;
  std::vector<ChannelBank<T>> analysis_;
  std::vector<ChannelBank<T>> synthesis_;
  mutable DistributedArray<T> scratch_[2];
};

}  // namespace

template <Scalar T>
LinearOperator<T> swt(const Layout& layout, const SwtOptions& options) {
  constexpr const char* who = "swt";
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("wavelet {}, axis {}, level {}", options.wavelet, options.axis, options.level));
  const detail::WaveletFilters filters = detail::wavelet_filters(options.wavelet, who);
  const int axis = normalize_axis(options.axis, layout.ndim(), who);
  const index_t padded = detail::padded_extent(layout.shape(), axis, options.level, who);
  const bool is_local = detail::is_undistributed(layout, axis);
  const Layout gathered = is_local ? layout : detail::gather_axis(layout, axis);
  const auto prepare = detail::pad_for_levels<T>(gathered, {axis}, options.level) *
                       redistribute<T>(layout, gathered);
  auto steps = make_operator<LocalSwt<T>>(prepare.range(), axis, options.level, filters) * prepare;
  if (is_local) return steps;
  const Layout range = detail::resize_axis(layout, axis, padded);
  const std::vector<LinearOperator<T>> back(static_cast<std::size_t>(options.level) + 1,
                                            redistribute<T>(prepare.range(), range));
  return block_diag(back) * steps;
}

#define INSTANTIATE(T) template LinearOperator<T> swt<T>(const Layout&, const SwtOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
