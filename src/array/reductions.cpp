#include <weft/array/reductions.hpp>

#include <weft/kernel/complex.hpp>

#include "array/checks.hpp"
#include "array/reduce_array.hpp"
#include "array/reduction_kernels.hpp"
#include "core/option_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using detail::result_of;

template <class T>
using KernelSum = kernels::SumOf<KernelType<T>>;

std::complex<double> number(Complex<double> z) { return {z.re, z.im}; }
double number(double x) { return x; }

template <class T, class Local>
Accumulator<T> sum_over(const Layout& layout, Local local) {
  const auto add = [](Accumulator<T> a, Accumulator<T> b) { return a + b; };
  return detail::reduce_array(layout, Accumulator<T>{}, ReduceOp::sum, add, local);
}

/// Elements are compared by their ordered_key(), so that NaN wins on every transport.
template <class T>
T extreme(const char* who, const ConstArrayView<T>& x, bool smallest) {
  require(x.layout().count() > 0, "{}: the array is empty", who);
  detail::verify_if_checking(who, x);
  const auto local = [&](index_t first, index_t count) {
    const T value = result_of<T>(x.device(), [&](auto device, T* out) {
      if (smallest) {
        kernels::min(device, count, x.data() + first, out);
      } else {
        kernels::max(device, count, x.data() + first, out);
      }
    });
    return kernels::ordered_key(static_cast<double>(value), smallest);
  };
  const auto combine = [smallest](std::int64_t a, std::int64_t b) {
    return smallest ? std::min(a, b) : std::max(a, b);
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::int64_t key = detail::reduce_array(
      x.layout(), kernels::ordered_key(smallest ? infinity : -infinity, smallest),
      smallest ? ReduceOp::min : ReduceOp::max, combine, local);
  return static_cast<T>(kernels::number_of_key(key));
}

}  // namespace

template <Scalar T>
Accumulator<T> dot(const ConstArrayView<T>& x, const ConstArrayView<T>& y, Conjugate conjugate) {
  detail::require_equal(x.layout(), y.layout(), "dot");
  detail::require_enumerator(conjugate, Conjugate::none, "dot", "Conjugate");
  detail::verify_if_checking("dot", x, y);
  return sum_over<T>(x.layout(), [&](index_t first, index_t count) {
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
Accumulator<T> axpy_dot(Coefficient<T> a, const ConstArrayView<T>& x, const detail::Output<T>& y,
                        const ConstArrayView<T>& z) {
  detail::require_equal(x.layout(), y.layout(), "axpy_dot");
  detail::require_equal(z.layout(), y.layout(), "axpy_dot");
  detail::verify_if_checking<T>("axpy_dot", y, x, z);
  return sum_over<T>(y.layout(), [&](index_t first, index_t count) {
    return number(result_of<KernelSum<T>>(y.device(), [&](auto device, KernelSum<T>* out) {
      kernels::axpy_dot(device, count, kernel_value(a.value), kernel_cast(x.data()) + first,
                        kernel_cast(y.data()) + first, kernel_cast(z.data()) + first, out);
    }));
  });
}

template <Scalar T>
Accumulator<T> sum(const ConstArrayView<T>& x) {
  detail::verify_if_checking("sum", x);
  return sum_over<T>(x.layout(), [&](index_t first, index_t count) {
    return number(result_of<KernelSum<T>>(x.device(), [&](auto device, KernelSum<T>* out) {
      kernels::sum(device, count, kernel_cast(x.data()) + first, out);
    }));
  });
}

template <Scalar T>
  requires(!is_complex<T>)
T min(const ConstArrayView<T>& x) { return extreme("min", x, true); }

template <Scalar T>
  requires(!is_complex<T>)
T max(const ConstArrayView<T>& x) { return extreme("max", x, false); }

template <Scalar T>
void verify_replicas(const ConstArrayView<T>& x) {
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
  detail::for_each_leaf(x.layout(), offset, visit);
}

#define INSTANTIATE(T)                                                                           \
  template Accumulator<T> dot<T>(const ConstArrayView<T>&, const ConstArrayView<T>&, Conjugate); \
  template Accumulator<T> axpy_dot<T>(Coefficient<T>, const ConstArrayView<T>&,                  \
                                      const ArrayView<T>&, const ConstArrayView<T>&);            \
  template Accumulator<T> sum<T>(const ConstArrayView<T>&);                                      \
  template void verify_replicas<T>(const ConstArrayView<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

template float min<float>(const ConstArrayView<float>&);
template double min<double>(const ConstArrayView<double>&);
template float max<float>(const ConstArrayView<float>&);
template double max<double>(const ConstArrayView<double>&);

}  // namespace weft
