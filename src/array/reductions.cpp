#include <weft/array/reductions.hpp>

#include <weft/core/complex.hpp>
#include <weft/core/dispatch.hpp>

#include "array/checks.hpp"
#include "array/reduction_kernels.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using kernels::NormTerm;

template <class T>
using KernelSum = kernels::SumOf<KernelType<T>>;

std::complex<double> number(Complex<double> z) { return {z.re, z.im}; }
double number(double x) { return x; }

/// What a kernel leaves in memory of the device, given where to leave it: kernel(device, out).
template <class A, class Kernel>
A result_of(Device where, Kernel kernel) {
  A value{};
  if (where.host_accessible()) {
    dispatch(where, [&](auto device) { kernel(device, &value); });
    return value;
  }
  A* out = static_cast<A*>(detail::scalar_scratch(where, sizeof(A)));
  dispatch(where, [&](auto device) { kernel(device, out); });
  copy_bytes(&value, Device::cpu(), out, where, sizeof(A));
  return value;
}

/// f(layout, offset) for each layout in a stack that is not one itself; the elements of all of them
/// follow one another in memory.
template <class F>
void for_each_leaf(const Layout& layout, index_t& offset, F& f) {
  if (!layout.is_stack()) {
    f(layout, offset);
    offset += layout.local_count();
    return;
  }
  for (int index = 0; index < layout.part_count(); ++index) {
    for_each_leaf(layout.part(index), offset, f);
  }
}

/// Combines local(offset, count) over the parts of a stack and over the ranks. Parts that need the
/// same communicator share one message; replicated parts need none.
template <class T, class A, class Combine, class Local>
A reduce_array(const DistributedArray<T>& x, A identity, ReduceOp op, Combine combine,
               Local local) {
  if (x.comm().checks_calls()) verify_replicas(x);
  A total = identity;
  int leaf_number = 0;
  const auto visit = [&](const Layout& leaf, index_t) {
    const Comm& comm = leaf.reduction_comm();
    const int mine = leaf_number++;
    int number = 0;
    bool is_first = true;
    A value = identity;
    const auto gather = [&](const Layout& other, index_t first) {
      const int theirs = number++;
      if (!(other.reduction_comm() == comm)) return;
      if (theirs < mine) is_first = false;
      if (is_first) value = combine(value, local(first, other.local_count()));
    };
    index_t offset = 0;
    for_each_leaf(x.layout(), offset, gather);
    if (is_first) total = combine(total, comm.valid() ? comm.allreduce(value, op) : value);
  };
  index_t offset = 0;
  for_each_leaf(x.layout(), offset, visit);
  return total;
}

template <class T, class Local>
Accumulator<T> sum_array(const DistributedArray<T>& x, Local local) {
  const auto add = [](Accumulator<T> a, Accumulator<T> b) { return a + b; };
  return reduce_array(x, Accumulator<T>{}, ReduceOp::sum, add, local);
}

template <class T>
double extreme_magnitude(const DistributedArray<T>& x, NormTerm term) {
  const bool smallest = term == NormTerm::smallest;
  const std::int64_t identity =
      kernels::ordered_bits(smallest ? std::numeric_limits<double>::infinity() : 0, smallest);
  const auto combine = [smallest](std::int64_t a, std::int64_t b) {
    return smallest ? std::min(a, b) : std::max(a, b);
  };
  const std::int64_t bits = reduce_array(
      x, identity, smallest ? ReduceOp::min : ReduceOp::max, combine,
      [&](index_t first, index_t count) {
        return kernels::ordered_bits(
            result_of<double>(x.device(),
                              [&](auto device, double* out) {
                                kernels::norm_terms(device, count, kernel_cast(x.data()) + first,
                                                    term, 1.0, 1.0, out);
                              }),
            smallest);
      });
  return kernels::number_of_bits(bits);
}

template <class T>
double sum_terms(const DistributedArray<T>& x, NormTerm term, double power, double scale) {
  return reduce_array(
      x, 0.0, ReduceOp::sum, [](double a, double b) { return a + b; },
      [&](index_t first, index_t count) {
        return result_of<double>(x.device(), [&](auto device, double* out) {
          kernels::norm_terms(device, count, kernel_cast(x.data()) + first, term, power, scale,
                              out);
        });
      });
}

template <class T>
double norm2(const DistributedArray<T>& x) {
  const double squares = sum_terms(x, NormTerm::square, 2, 1);
  constexpr double safe = std::numeric_limits<double>::min() * 0x1p52;
  if (std::isnan(squares) || (squares >= safe && std::isfinite(squares))) return std::sqrt(squares);
  // The squares have left the range of numbers; their root may not have. Scale and sum again.
  const double largest = extreme_magnitude(x, NormTerm::largest);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  const double scale = std::ldexp(1.0, std::min(1000, -std::ilogb(largest)));
  return std::sqrt(sum_terms(x, NormTerm::square, 2, scale)) / scale;
}

NormTerm term_of(double order, const char* where) {
  require(!std::isnan(order), "{}: the order of a norm must not be NaN", where);
  if (order == 0) return NormTerm::nonzero;
  if (order == 1) return NormTerm::magnitude;
  if (order == 2) return NormTerm::square;
  if (std::isinf(order)) return order > 0 ? NormTerm::largest : NormTerm::smallest;
  return NormTerm::power;
}

/// Brings the terms of a norm together along a line of ranks.
void reduce_terms(const Comm& line, Buffer<double>& terms, NormTerm term) {
  if (term != NormTerm::largest && term != NormTerm::smallest) {
    line.allreduce(terms, ReduceOp::sum);
    return;
  }
  const bool smallest = term == NormTerm::smallest;
  dispatch(terms.device(), [&](auto device) {
    kernels::to_ordered_bits(device, terms.size(), smallest, terms.data());
  });
  line.allreduce(Memory(terms.data(), terms.size(), DType::i64, terms.device()),
                 smallest ? ReduceOp::min : ReduceOp::max);
  dispatch(terms.device(),
           [&](auto device) { kernels::from_ordered_bits(device, terms.size(), terms.data()); });
}

/// Orders of min and max: NaN first of all, as a flag beside the value.
template <class T>
T extreme(const DistributedArray<T>& x, bool smallest) {
  require(x.layout().count() > 0, "{}: the array is empty", smallest ? "min" : "max");
  if (x.comm().checks_calls()) verify_replicas(x);
  const T mine = result_of<T>(x.device(), [&](auto device, T* out) {
    if (smallest) {
      kernels::min(device, x.local_count(), x.data(), out);
    } else {
      kernels::max(device, x.local_count(), x.data(), out);
    }
  });
  // Replicas change neither, so that all ranks of a stack can take part at once; also those that
  // have all elements because they are a group by themselves.
  bool alone = true;
  const auto visit = [&](const Layout& leaf, index_t) {
    alone = alone && (leaf.is_replicated() || leaf.comm().size() == 1);
  };
  index_t offset = 0;
  for_each_leaf(x.layout(), offset, visit);
  if (alone) return mine;
  std::array<T, 2> pair = {std::isnan(mine) ? T{1} : T{0}, smallest ? -mine : mine};
  if (std::isnan(mine)) pair[1] = 0;
  x.comm().allreduce(pair, ReduceOp::max);
  if (pair[0] > 0) return std::numeric_limits<T>::quiet_NaN();
  return smallest ? -pair[1] : pair[1];
}

}  // namespace

template <Scalar T>
Accumulator<T> dot(const DistributedArray<T>& x, const DistributedArray<T>& y,
                   Conjugate conjugate) {
  detail::require_equal(x.layout(), y.layout(), "dot");
  return sum_array(x, [&](index_t first, index_t count) {
    const auto* a = kernel_cast(x.data()) + first;
    const auto* b = kernel_cast(y.data()) + first;
    return number(result_of<KernelSum<T>>(x.device(), [&](auto device, KernelSum<T>* out) {
      if (conjugate == Conjugate::first) {
        kernels::dot(device, count, a, b, out);
      } else {
        kernels::dot_plain(device, count, a, b, out);
      }
    }));
  });
}

template <Scalar T>
Accumulator<T> axpy_dot(Coefficient<T> a, const DistributedArray<T>& x, DistributedArray<T>& y,
                        const DistributedArray<T>& z) {
  detail::require_equal(x.layout(), y.layout(), "axpy_dot");
  detail::require_equal(z.layout(), y.layout(), "axpy_dot");
  return sum_array(y, [&](index_t first, index_t count) {
    return number(result_of<KernelSum<T>>(y.device(), [&](auto device, KernelSum<T>* out) {
      kernels::axpy_dot(device, count, kernel_value(a.value), kernel_cast(x.data()) + first,
                        kernel_cast(y.data()) + first, kernel_cast(z.data()) + first, out);
    }));
  });
}

template <Scalar T>
Accumulator<T> sum(const DistributedArray<T>& x) {
  return sum_array(x, [&](index_t first, index_t count) {
    return number(result_of<KernelSum<T>>(x.device(), [&](auto device, KernelSum<T>* out) {
      kernels::sum(device, count, kernel_cast(x.data()) + first, out);
    }));
  });
}

template <Scalar T>
  requires(!is_complex<T>)
T min(const DistributedArray<T>& x) { return extreme(x, true); }

template <Scalar T>
  requires(!is_complex<T>)
T max(const DistributedArray<T>& x) { return extreme(x, false); }

template <Scalar T>
double norm(const DistributedArray<T>& x, double order) {
  const NormTerm term = term_of(order, "norm");
  switch (term) {
    case NormTerm::square: return norm2(x);
    case NormTerm::largest:
    case NormTerm::smallest: return extreme_magnitude(x, term);
    case NormTerm::nonzero:
    case NormTerm::magnitude: return sum_terms(x, term, 1, 1);
    case NormTerm::power: break;
  }
  return std::pow(sum_terms(x, term, order, 1), 1 / order);
}

template <Scalar T>
DistributedArray<Real<T>> norm_along(const DistributedArray<T>& x, int axis, double order) {
  axis = normalize_axis(axis, x.layout().ndim(), "norm_along");
  const NormTerm term = term_of(order, "norm_along");
  if (x.comm().checks_calls()) verify_replicas(x);
  const Shape& shape = x.local_shape();
  const index_t outer = shape.count(0, axis);
  const index_t inner = shape.count(axis + 1, shape.ndim());
  Buffer<double> terms(outer * inner, x.device());
  dispatch(x.device(), [&](auto device) {
    kernels::norm_terms_along(device, outer, shape[axis], inner, kernel_cast(x.data()), term, order,
                              terms.data());
  });
  DistributedArray<Real<T>> result(x.layout().without(axis), uninitialized);
  const Comm line = x.layout().line_comm(axis);
  if (line.valid() && line.size() > 1) reduce_terms(line, terms, term);
  const bool rooted = term == NormTerm::square || term == NormTerm::power;
  dispatch(x.device(), [&](auto device) {
    kernels::raise(device, terms.size(), rooted ? 1 / order : 1.0, terms.data(), result.data());
  });
  return result;
}

template <Scalar T>
void verify_replicas(const DistributedArray<T>& x) {
  index_t offset = 0;
  const auto visit = [&](const Layout& leaf, index_t first) {
    const Comm& group = leaf.group_comm();
    if (!leaf.is_replicated() || group.size() == 1) return;
    const auto hash = result_of<std::uint64_t>(x.device(), [&](auto device, std::uint64_t* out) {
      kernels::hash(device, leaf.local_count(), kernel_cast(x.data()) + first, out);
    });
    std::array<std::uint64_t, 2> range = {hash, ~hash};
    group.allreduce(range, ReduceOp::max);
    const std::uint64_t largest = range[0];
    const std::uint64_t smallest = ~range[1];
    if (largest != smallest) {
      throw AgreedError(fmt::format(
          "the copies of a replicated array of {} differ between ranks; a replicated array must be "
          "given the same values on all of them",
          to_string(leaf.shape())));
    }
  };
  for_each_leaf(x.layout(), offset, visit);
}

#define INSTANTIATE(T)                                                                       \
  template Accumulator<T> dot<T>(const DistributedArray<T>&, const DistributedArray<T>&,     \
                                 Conjugate);                                                 \
  template Accumulator<T> axpy_dot<T>(Coefficient<T>, const DistributedArray<T>&,            \
                                      DistributedArray<T>&, const DistributedArray<T>&);     \
  template Accumulator<T> sum<T>(const DistributedArray<T>&);                                \
  template double norm<T>(const DistributedArray<T>&, double);                               \
  template DistributedArray<Real<T>> norm_along<T>(const DistributedArray<T>&, int, double); \
  template void verify_replicas<T>(const DistributedArray<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

template float min<float>(const DistributedArray<float>&);
template double min<double>(const DistributedArray<double>&);
template float max<float>(const DistributedArray<float>&);
template double max<double>(const DistributedArray<double>&);

}  // namespace weft
