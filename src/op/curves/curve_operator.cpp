#include "op/curves/curve_operator.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/core/parallel.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_layout.hpp"
#include "op/curves/curve_kernels.hpp"
#include "op/peers.hpp"
#include "op/scaling.hpp"
#include "op/to_device.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::detail {
namespace {

/// Entries of the table that one pass over columns or samples computes on the fly.
constexpr index_t entries_per_pass = 1 << 18;

struct Interval {
  index_t first;
  index_t count;
};

/// Positions of curves in the form that kernels read.
template <class R>
class Crossings {
 public:
  Crossings(const Layout& range, CurveInterpolation interpolation)
      : nt_(range.shape()[range.ndim() - 1]),
        is_linear_(interpolation == CurveInterpolation::linear) {}

  void resize(index_t entries) {
    index.resize(static_cast<std::size_t>(entries));
    if (is_linear_) weight.resize(index.size());
  }
  /// Computes a table [columns.count, samples.count]. Rethrows what `position` throws.
  void fill(const CurvePosition& position, Interval columns, Interval samples) {
    std::exception_ptr failure;
    std::once_flag has_failed;
    const auto fill_column = [&](index_t column) {
      try {
        for (index_t s = 0; s < samples.count; ++s) {
          set(static_cast<std::size_t>(column * samples.count + s),
              position(samples.first + s, columns.first + column));
        }
      } catch (...) {  // must not leave a parallel loop
        std::call_once(has_failed, [&] { failure = std::current_exception(); });
      }
    };
    share_jobs(columns.count, threads_for(columns.count * samples.count), fill_column);
    if (failure) std::rethrow_exception(failure);
  }

  std::vector<std::int32_t> index;
  std::vector<R> weight;

 private:
  void set(std::size_t entry, double position) {
    const bool is_inside = position >= 0 && position <= static_cast<double>(nt_ - 1);
    const double whole = is_inside ? std::floor(is_linear_ ? position : position + 0.5) : -1;
    index[entry] = static_cast<std::int32_t>(whole);
    if (is_linear_) weight[entry] = is_inside ? static_cast<R>(position - whole) : R{};
  }

  index_t nt_;
  bool is_linear_;
};

template <Scalar T>
class CurveOperator final : public OperatorNode<T> {
 public:
  CurveOperator(const char* who, const Layout& domain, const Layout& range,
                const CurvePosition& position, const SpreadOptions& options)
      : OperatorNode<T>(who, domain, range),
        samples_(domain.count()),
        nt_(range.shape()[range.ndim() - 1]),
        columns_(nt_ == 0 ? 0 : range.local_count() / nt_),
        first_column_(first_column(range)),
        crossings_(range, options.interpolation) {
    if (!range.is_replicated() && has_peers(range.group_comm())) {
      gathered_.emplace(domain, uninitialized);
    }
    if (options.on_the_fly) {
      position_ = position;
      columns_per_pass_ = std::max<index_t>(1, entries_per_pass / std::max<index_t>(samples_, 1));
      samples_per_pass_ = std::max<index_t>(1, entries_per_pass / std::max<index_t>(columns_, 1));
      crossings_.resize(std::max(std::min(columns_per_pass_, columns_) * samples_,
                                 columns_ * std::min(samples_per_pass_, samples_)));
      return;
    }
    columns_per_pass_ = columns_;
    samples_per_pass_ = samples_;
    crossings_.resize(Shape{columns_, samples_}.count());
    crossings_.fill(position, {first_column_, columns_}, {0, samples_});
    index_ = to_device<std::int32_t>(crossings_.index, range.device());
    weight_ = to_device<Real<T>>(crossings_.weight, range.device());
    crossings_.index = {};
    crossings_.weight = {};
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    for (index_t first = 0; first < columns_; first += columns_per_pass_) {
      const Table table =
          table_of({first, std::min(columns_per_pass_, columns_ - first)}, {0, samples_});
      dispatch(y.device(), [&](auto device) {
        kernels::scatter_along_curves(device, table, kernel_value(update.alpha),
                                      kernel_cast(x.data()), kernel_value(update.beta),
                                      kernel_cast(y.data() + first * nt_));
      });
    }
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (!gathered_) return gather(y, x, update);
    gather(y, *gathered_, {});
    this->range().group_comm().allreduce(
        BufferRef(gathered_->data(), gathered_->local_count(), gathered_->device()));
    apply_update(*gathered_, x, update);
  }
  Cost cost() const override {
    const double entries = static_cast<double>(samples_) * static_cast<double>(columns_);
    const double elements = static_cast<double>(samples_) + static_cast<double>(columns_ * nt_);
    const double entry_bytes = sizeof(std::int32_t) + (is_linear() ? sizeof(Real<T>) : 0);
    return {.flops = entries * (is_linear() ? 4 : 1) * (is_complex<T> ? 2 : 1),
            .bytes = entries * entry_bytes + elements * sizeof(T)};
  }
  Cost adjoint_cost() const override {
    Cost all = cost();
    all.messages = gathered_ ? 1 : 0;
    return all;
  }

 private:
  using Table = kernels::CurveTable<Real<T>>;

  static index_t first_column(const Layout& range) {
    index_t number = 0;
    for (int axis = 0; axis + 1 < range.ndim(); ++axis) {
      number = number * range.shape()[axis] + range.box().offset[axis];
    }
    return number;
  }
  bool is_linear() const { return weight_.size() > 0 || !crossings_.weight.empty(); }

  /// x = alpha (sums over this rank's columns) + beta x
  void gather(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const {
    if (columns_ == 0) return scale_or_clear(update.beta, x);
    for (index_t first = 0; first < samples_; first += samples_per_pass_) {
      const Table table =
          table_of({0, columns_}, {first, std::min(samples_per_pass_, samples_ - first)});
      dispatch(x.device(), [&](auto device) {
        kernels::gather_along_curves(device, table, kernel_value(update.alpha),
                                     kernel_cast(y.data()), kernel_value(update.beta),
                                     kernel_cast(x.data() + first));
      });
    }
  }
  /// The table of some columns of this rank and some samples: all of it, unless it is computed on
  /// the fly.
  Table table_of(Interval columns, Interval samples) const {
    Table table{columns.count, samples.count, nt_, index_.data(), nullptr};
    if (weight_.size() > 0) table.weight = weight_.data();
    if (position_) {
      crossings_.fill(position_, {first_column_ + columns.first, columns.count}, samples);
      table.index = crossings_.index.data();
      if (!crossings_.weight.empty()) table.weight = crossings_.weight.data();
    }
    return table;
  }

  index_t samples_;
  index_t nt_;
  index_t columns_;  // of this rank
  index_t first_column_;
  index_t columns_per_pass_ = 0;  // of forward
  index_t samples_per_pass_ = 0;  // of the adjoint
  // The table, or what computes it on the fly.
  Buffer<std::int32_t> index_;
  Buffer<Real<T>> weight_;
  CurvePosition position_;
  mutable Crossings<Real<T>> crossings_;
  mutable std::optional<DistributedArray<T>> gathered_;  // if the range is distributed
};

}  // namespace

template <Scalar T>
LinearOperator<T> curve_operator(const char* who, const Layout& domain, const Layout& range,
                                 const CurvePosition& position, const SpreadOptions& options) {
  const int last = range.ndim() - 1;
  for (int axis = 1; axis <= last; ++axis) {
    require(is_undistributed(range, axis),
            "{}: the range may be distributed along axis 0 only, but is {}", who, to_string(range));
  }
  require(domain == replicated_like(range, domain.shape()),
          "{}: the domain must have a copy on every rank of the range, but is {}, and the range {}",
          who, to_string(domain), to_string(range));
  require(range.shape()[last] <= std::numeric_limits<std::int32_t>::max(),
          "{}: columns may have at most 2^31 - 1 elements, but the range is {}", who,
          to_string(range));
  require(!options.on_the_fly || range.device().host_accessible(),
          "{}: on_the_fly requires arrays on the CPU, but the range is {}", who, to_string(range));
  return make_operator<CurveOperator<T>>(who, domain, range, position, options);
}

#define INSTANTIATE(T)                                                                    \
  template LinearOperator<T> curve_operator<T>(const char*, const Layout&, const Layout&, \
                                               const CurvePosition&, const SpreadOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
