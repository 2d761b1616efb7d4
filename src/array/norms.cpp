#include <weft/array/reductions.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>

#include "array/reduce_array.hpp"
#include "array/reduction_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

namespace weft {
namespace {

using detail::ReductionSet;
using detail::result_of;
using kernels::NormTerm;

constexpr double infinity = std::numeric_limits<double>::infinity();

NormTerm term_of(double order, const char* where) {
  require(!std::isnan(order), "{}: the order of a norm must not be NaN", where);
  if (order == 0) return NormTerm::nonzero;
  if (order == 1) return NormTerm::magnitude;
  if (order == 2) return NormTerm::square;
  if (std::isinf(order)) return order > 0 ? NormTerm::largest : NormTerm::smallest;
  return NormTerm::power;
}

/// Powers of elements may overflow or underflow in double; those of float only for high orders.
template <class T>
bool may_overflow(double order) {
  return std::is_same_v<Real<T>, double> || std::abs(order) > 6;
}

/// The element that dominates a sum of powers, by which elements are scaled.
NormTerm dominant_term(double order) { return order > 0 ? NormTerm::largest : NormTerm::smallest; }

/// A sum of powers of elements divided by `scale`, so that it does not overflow or underflow.
struct ScaledSum {
  double scale = 1;
  double sum = 0;

  double root(double order) const {
    return scale * (order == 2 ? std::sqrt(sum) : std::pow(sum, 1 / order));
  }
};

/// The sum over two sets of parts.
ScaledSum sum_of(const ScaledSum& a, const ScaledSum& b, double order, NormTerm term) {
  if (a.scale == 1 && b.scale == 1 && !kernels::is_out_of_range(a.sum + b.sum, term)) {
    return {1, a.sum + b.sum};
  }
  const double one = a.root(order);
  const double other = b.root(order);
  const double scale = order > 0 ? std::max(one, other) : std::min(one, other);
  if (std::isnan(one + other)) return {1, one + other};
  if (scale == 0 || std::isinf(scale)) return {1, std::pow(scale, order)};
  return {scale, std::pow(one / scale, order) + std::pow(other / scale, order)};
}

template <class T>
double sum_terms(const ReductionSet& set, const ConstArrayView<T>& x, NormTerm term, double power,
                 double scale) {
  return set.reduce(
      0.0, ReduceOp::sum, [](double a, double b) { return a + b; },
      [&](index_t first, index_t count) {
        return result_of<double>(x.device(), [&](auto device, double* out) {
          kernels::norm_terms(device, count, kernel_cast(x.data()) + first, term, power, scale,
                              out);
        });
      });
}

template <class T>
double extreme_magnitude(const ReductionSet& set, const ConstArrayView<T>& x, NormTerm term) {
  const bool smallest = term == NormTerm::smallest;
  const auto combine = [smallest](std::int64_t a, std::int64_t b) {
    return smallest ? std::min(a, b) : std::max(a, b);
  };
  const auto local = [&](index_t first, index_t count) {
    const auto kernel = [&](auto device, double* out) {
      kernels::norm_terms(device, count, kernel_cast(x.data()) + first, term, 1.0, 1.0, out);
    };
    return kernels::ordered_bits(result_of<double>(x.device(), kernel), smallest);
  };
  return kernels::number_of_bits(
      set.reduce(kernels::ordered_bits(smallest ? infinity : 0, smallest),
                 smallest ? ReduceOp::min : ReduceOp::max, combine, local));
}

/// The sum of powers. If it overflows or underflows, although its root may not, it is computed
/// again from scaled elements.
template <class T>
ScaledSum sum_powers(const ReductionSet& set, const ConstArrayView<T>& x, NormTerm term,
                     double order) {
  const double sum = sum_terms(set, x, term, order, 1);
  if (!may_overflow<T>(order) || !kernels::is_out_of_range(sum, term)) return {1, sum};
  const double dominant = extreme_magnitude(set, x, dominant_term(order));
  if (dominant == 0 || !std::isfinite(dominant)) return {1, std::pow(dominant, order)};
  if (term == NormTerm::power) return {dominant, sum_terms(set, x, term, order, dominant)};
  const double scale = std::ldexp(1.0, std::min(1000, -std::ilogb(dominant)));
  return {1 / scale, sum_terms(set, x, term, order, scale)};
}

/// Reduces the terms of norms over a line of ranks.
void reduce_terms(const Comm& line, Buffer<double>& terms, NormTerm term) {
  if (!line.valid() || line.size() == 1) return;
  if (term != NormTerm::largest && term != NormTerm::smallest) {
    line.allreduce(terms, ReduceOp::sum);
    return;
  }
  const bool smallest = term == NormTerm::smallest;
  dispatch(terms.device(), [&](auto device) {
    kernels::to_ordered_bits(device, terms.size(), smallest, terms.data());
  });
  line.allreduce(BufferRef(terms.data(), terms.size(), DType::i64, terms.device()),
                 smallest ? ReduceOp::min : ReduceOp::max);
  dispatch(terms.device(),
           [&](auto device) { kernels::from_ordered_bits(device, terms.size(), terms.data()); });
}

/// The norms of the lines along an axis of an array.
template <class T>
class LineNorms {
 public:
  LineNorms(const ConstArrayView<T>& x, int axis, double order)
      : x_(x),
        order_(order),
        term_(term_of(order, "norm_along")),
        outer_(x.local_shape().count(0, axis)),
        n_(x.local_shape()[axis]),
        inner_(x.local_shape().count(axis + 1, x.shape().ndim())),
        line_(x.layout().line_comm(axis)) {}

  void into(const ArrayView<Real<T>>& result) const {
    const Buffer<double> terms = sums(term_, nullptr);
    const bool rooted = term_ == NormTerm::square || term_ == NormTerm::power;
    dispatch(x_.device(), [&](auto device) {
      kernels::raise(device, terms.size(), rooted ? 1 / order_ : 1.0, terms.data(), result.data());
    });
    if (rooted && may_overflow<T>(order_) && any_out_of_range(terms))
      recompute_scaled(terms, result);
  }

 private:
  /// The sums of one kind of terms along whole lines; powers are of elements divided by the divisor
  /// of their line.
  Buffer<double> sums(NormTerm term, const double* divisors) const {
    Buffer<double> terms(outer_ * inner_, x_.device());
    dispatch(x_.device(), [&](auto device) {
      kernels::norm_terms_along(device, outer_, n_, inner_, kernel_cast(x_.data()), term, order_,
                                divisors, terms.data());
    });
    reduce_terms(line_, terms, term);
    return terms;
  }
  /// All ranks of a line have the same sums, and get the same answer.
  bool any_out_of_range(const Buffer<double>& terms, const double* dominant = nullptr) const {
    return result_of<double>(x_.device(), [&](auto device, double* out) {
             kernels::count_out_of_range(device, terms.size(), terms.data(), term_, dominant, out);
           }) > 0;
  }
  /// Computes the sums that were out of range again, from scaled elements.
  void recompute_scaled(const Buffer<double>& terms, const ArrayView<Real<T>>& result) const {
    const Buffer<double> dominant = sums(dominant_term(order_), nullptr);
    if (!any_out_of_range(terms, dominant.data())) return;  // typically lines of zeros
    const Buffer<double> scaled = sums(NormTerm::power, dominant.data());
    dispatch(x_.device(), [&](auto device) {
      kernels::raise_scaled(device, terms.size(), order_, term_, terms.data(), dominant.data(),
                            scaled.data(), result.data());
    });
  }

  const ConstArrayView<T>& x_;
  double order_;
  NormTerm term_;
  index_t outer_;
  index_t n_;
  index_t inner_;
  Comm line_;
};

}  // namespace

template <Scalar T>
double norm(const ConstArrayView<T>& x, double order) {
  const NormTerm term = term_of(order, "norm");
  detail::verify_if_checking("norm", x);
  const bool rooted = term == NormTerm::square || term == NormTerm::power;
  const bool extreme = term == NormTerm::largest || term == NormTerm::smallest;
  std::optional<ScaledSum> powers;
  double total = term == NormTerm::smallest ? infinity : 0;
  detail::for_each_reduction_set(x.layout(), [&](const ReductionSet& set) {
    if (rooted) {
      const ScaledSum part = sum_powers(set, x, term, order);
      powers = powers ? sum_of(*powers, part, order, term) : part;
    } else if (!extreme) {
      total += sum_terms(set, x, term, 1, 1);
    } else {
      const double part = extreme_magnitude(set, x, term);
      const bool wins = term == NormTerm::smallest ? part < total : part > total;
      if (wins || std::isnan(part)) total = part;
    }
  });
  return rooted ? powers->root(order) : total;
}

template <Scalar T>
DistributedArray<Real<T>> norm_along(const ConstArrayView<T>& x, int axis, double order) {
  detail::agree_on_plan("norm_along", {&x.layout()}, dtype_of<T>,
                        fmt::format("axis {}, order {}", axis, order));
  axis = normalize_axis(axis, x.shape().ndim(), "norm_along");
  if (x.comm().checks_calls()) verify_replicas(x);
  DistributedArray<Real<T>> result(without_axis(x.layout(), axis), uninitialized);
  LineNorms<T>(x, axis, order).into(result);
  return result;
}

#define INSTANTIATE(T)                                       \
  template double norm<T>(const ConstArrayView<T>&, double); \
  template DistributedArray<Real<T>> norm_along<T>(const ConstArrayView<T>&, int, double);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
