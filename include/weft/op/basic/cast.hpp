#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

namespace detail {
template <class T>
struct OtherPrecision;
template <>
struct OtherPrecision<float> {
  using type = double;
};
template <>
struct OtherPrecision<double> {
  using type = float;
};
template <class R>
struct OtherPrecision<std::complex<R>> {
  using type = std::complex<typename OtherPrecision<R>::type>;
};
}  // namespace detail

/// y = x converted to another scalar, by default from the other precision: cast<double>(layout)
/// maps float to double. Real numbers become complex ones without an imaginary part; complex
/// numbers lose theirs. The adjoint converts back, in the real inner product: that of real to
/// complex is the real part. Elementwise, no communication.
///
/// Sums, products, scalings, adjoints and conjugates combine operators of all scalars, so that
/// cast<float>(range) * A * cast<double>(domain) applies A in double precision to arrays of float.
/// Blocks, memoize and solvers need domains and ranges of one precision.
template <Scalar To, Scalar From = typename detail::OtherPrecision<To>::type>
LinearOperator<From, To> cast(const Layout& layout);

}  // namespace weft
