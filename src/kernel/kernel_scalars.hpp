#pragma once

// Scalars of kernels: float, double and Complex of these.

#include <weft/kernel/complex.hpp>

#include <type_traits>

namespace weft::kernels {

template <class T>
struct RealPart {
  using type = T;
};
template <class R>
struct RealPart<Complex<R>> {
  using type = R;
};
template <class T>
using RealOf = typename RealPart<T>::type;
/// double or Complex<double>
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, RealOf<T>>, double, Complex<double>>;

}  // namespace weft::kernels

/// Expands M once per scalar of kernels.
#define WEFT_FOR_EACH_KERNEL_SCALAR(M) \
  M(float)                             \
  M(double)                            \
  M(::weft::Complex<float>)            \
  M(::weft::Complex<double>)
