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

using detail::result_of;
using detail::Share;
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

/// Powers of elements may leave the range of double: not those of float, unless they are high.
template <class T>
bool may_leave_range(double order) {
  return std::is_same_v<Real<T>, double> || std::abs(order) > 6;
}

/// The element that the sum of powers is scaled by: it decides, up to their number, how large the
/// sum is.
NormTerm ruling_term(double order) { return order > 0 ? NormTerm::largest : NormTerm::smallest; }

/// A sum of powers, divided by that power of `scale` so that it is within the range of numbers.
struct ScaledSum {
  double scale = 1;
  double sum = 0;

  double root(double order) const {
    return scale * (order == 2 ? std::sqrt(sum) : std::pow(sum, 1 / order));
  }
};

/// Of the parts of an array that are in two shares.
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
double sum_terms(const Share& share, const ConstArrayView<T>& x, NormTerm term, double power,
                 double scale) {
  return share.reduce(
      0.0, ReduceOp::sum, [](double a, double b) { return a + b; },
      [&](index_t first, index_t count) {
        return result_of<double>(x.device(), [&](auto device, double* out) {
          kernels::norm_terms(device, count, kernel_cast(x.data()) + first, term, power, scale,
                              out);
        });
      });
}

template <class T>
double extreme_magnitude(const Share& share, const ConstArrayView<T>& x, NormTerm term) {
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
      share.reduce(kernels::ordered_bits(smallest ? infinity : 0, smallest),
                   smallest ? ReduceOp::min : ReduceOp::max, combine, local));
}

/// The sum of powers. Where it has left the range of numbers, which its root may not have, it is
/// taken again of scaled elements.
template <class T>
ScaledSum sum_powers(const Share& share, const ConstArrayView<T>& x, NormTerm term, double order) {
  const double sum = sum_terms(share, x, term, order, 1);
  if (!may_leave_range<T>(order) || !kernels::is_out_of_range(sum, term)) return {1, sum};
  const double ruling = extreme_magnitude(share, x, ruling_term(order));
  if (ruling == 0 || !std::isfinite(ruling)) return {1, std::pow(ruling, order)};
  if (term == NormTerm::power) return {ruling, sum_terms(share, x, term, order, ruling)};
  const double scale = std::ldexp(1.0, std::min(1000, -std::ilogb(ruling)));
  return {1 / scale, sum_terms(share, x, term, order, scale)};
}

/// Brings the terms of a norm together along a line of ranks.
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

/// The norms of the lines along an axis of an array, in steps.
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
    if (rooted && may_leave_range<T>(order_) && any_out_of_range(terms)) rescue(terms, result);
  }

 private:
  /// Of one kind of terms, along whole lines; powers of elements divided by the number that belongs
  /// to their line.
  Buffer<double> sums(NormTerm term, const double* divisors) const {
    Buffer<double> terms(outer_ * inner_, x_.device());
    dispatch(x_.device(), [&](auto device) {
      kernels::norm_terms_along(device, outer_, n_, inner_, kernel_cast(x_.data()), term, order_,
                                divisors, terms.data());
    });
    reduce_terms(line_, terms, term);
    return terms;
  }
  /// All ranks of a line have the same sums, and come to the same conclusion.
  bool any_out_of_range(const Buffer<double>& terms, const double* ruling = nullptr) const {
    return result_of<double>(x_.device(), [&](auto device, double* out) {
             kernels::count_out_of_range(device, terms.size(), terms.data(), term_, ruling, out);
           }) > 0;
  }
  /// Takes the sums again of scaled elements; those that were within the range of numbers stay.
  void rescue(const Buffer<double>& terms, const ArrayView<Real<T>>& result) const {
    const Buffer<double> ruling = sums(ruling_term(order_), nullptr);
    if (!any_out_of_range(terms, ruling.data())) return;  // lines of zeros, most likely
    const Buffer<double> scaled = sums(NormTerm::power, ruling.data());
    dispatch(x_.device(), [&](auto device) {
      kernels::raise_scaled(device, terms.size(), order_, term_, terms.data(), ruling.data(),
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
  detail::for_each_share(x.layout(), [&](const Share& share) {
    if (rooted) {
      const ScaledSum part = sum_powers(share, x, term, order);
      powers = powers ? sum_of(*powers, part, order, term) : part;
    } else if (!extreme) {
      total += sum_terms(share, x, term, 1, 1);
    } else {
      const double part = extreme_magnitude(share, x, term);
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
