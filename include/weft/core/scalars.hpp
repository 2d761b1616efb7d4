#pragma once

#include <complex>
#include <concepts>
#include <type_traits>

namespace weft {

/// The four scalars of arrays, operators and solvers.
template <class T>
concept Scalar = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

namespace detail {
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
}  // namespace detail

/// float for float and complex<float>, double for double and complex<double>.
template <class T>
using Real = typename detail::RealOf<T>::type;

template <class T>
inline constexpr bool is_complex = !std::same_as<T, Real<T>>;

/// The type of sums over T: double or complex<double>.
template <class T>
using Accumulator = std::conditional_t<is_complex<T>, std::complex<double>, double>;

/// A type by which elements of T can be multiplied without losing precision or an imaginary part.
template <class S, class T>
concept Factor = std::same_as<S, T> || std::same_as<S, Real<T>> || std::integral<S>;

namespace detail {
/// Converts only from such types: a double for an array of floats does not compile.
template <class T>
struct CoefficientOf {
  T value;

  template <class S>
    requires(Factor<S, T> && !is_complex<S>)
  CoefficientOf(S number) : value(static_cast<Real<T>>(number)) {}
  CoefficientOf(T number) requires is_complex<T> : value(number) {}
};
}  // namespace detail

/// The type of a coefficient in front of an array of T, from which T is not deduced.
template <class T>
using Coefficient = std::type_identity_t<detail::CoefficientOf<T>>;

}  // namespace weft

/// Expands M once per scalar: the only list for explicit instantiations.
#define WEFT_FOR_EACH_SCALAR(M) \
  M(float)                      \
  M(double)                     \
  M(std::complex<float>)        \
  M(std::complex<double>)
