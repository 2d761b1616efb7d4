#include <weft/array/arithmetic.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/checks.hpp"
#include "array/vector_kernels.hpp"

namespace weft {

template <Scalar T>
void copy(const ConstArrayView<T>& x, const detail::Output<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "copy");
  dispatch(y.device(), [&](auto device) {
    kernels::copy(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
}

template <Scalar T>
void scale(Coefficient<T> a, const ArrayView<T>& x) {
  dispatch(x.device(), [&](auto device) {
    kernels::scale(device, x.local_count(), kernel_value(a.value), kernel_cast(x.data()));
  });
}

template <Scalar T>
void add(Coefficient<T> a, const ArrayView<T>& x) {
  dispatch(x.device(), [&](auto device) {
    kernels::add(device, x.local_count(), kernel_value(a.value), kernel_cast(x.data()));
  });
}

template <Scalar T>
void axpy(Coefficient<T> a, const ConstArrayView<T>& x, const detail::Output<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "axpy");
  dispatch(y.device(), [&](auto device) {
    kernels::axpy(device, y.local_count(), kernel_value(a.value), kernel_cast(x.data()),
                  kernel_cast(y.data()));
  });
}

template <Scalar T>
void axpby(Coefficient<T> a, const ConstArrayView<T>& x, Coefficient<T> b,
           const detail::Output<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "axpby");
  dispatch(y.device(), [&](auto device) {
    kernels::axpby(device, y.local_count(), kernel_value(a.value), kernel_cast(x.data()),
                   kernel_value(b.value), kernel_cast(y.data()));
  });
}

template <Scalar T>
void multiply(const ConstArrayView<T>& x, const detail::Output<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "multiply");
  dispatch(y.device(), [&](auto device) {
    kernels::multiply(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
}

template <Scalar T>
void conjugate(const ConstArrayView<T>& x, const detail::Output<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "conjugate");
  dispatch(y.device(), [&](auto device) {
    kernels::conjugate(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
}

template <Scalar T>
DistributedArray<T> conj(const ConstArrayView<T>& x) {
  DistributedArray<T> y(x.layout(), uninitialized);
  conjugate(x, y);
  return y;
}

template <Scalar T>
DistributedArray<Real<T>> abs(const ConstArrayView<T>& x) {
  DistributedArray<Real<T>> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::magnitude(device, y.local_count(), kernel_cast(x.data()), y.data());
  });
  return y;
}

template <Scalar T>
DistributedArray<Real<T>> real(const ConstArrayView<T>& x) {
  DistributedArray<Real<T>> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::real_part(device, y.local_count(), kernel_cast(x.data()), y.data());
  });
  return y;
}

template <Scalar T>
DistributedArray<Real<T>> imag(const ConstArrayView<T>& x) {
  DistributedArray<Real<T>> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::imaginary_part(device, y.local_count(), kernel_cast(x.data()), y.data());
  });
  return y;
}

template <Scalar U, Scalar T>
  requires(is_complex<U> || !is_complex<T>)
DistributedArray<U> astype(const ConstArrayView<T>& x) {
  DistributedArray<U> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::convert(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
  return y;
}

#define INSTANTIATE(T)                                                                  \
  template void copy<T>(const ConstArrayView<T>&, const ArrayView<T>&);                 \
  template void scale<T>(Coefficient<T>, const ArrayView<T>&);                          \
  template void add<T>(Coefficient<T>, const ArrayView<T>&);                            \
  template void axpy<T>(Coefficient<T>, const ConstArrayView<T>&, const ArrayView<T>&); \
  template void axpby<T>(Coefficient<T>, const ConstArrayView<T>&, Coefficient<T>,      \
                         const ArrayView<T>&);                                          \
  template void multiply<T>(const ConstArrayView<T>&, const ArrayView<T>&);             \
  template void conjugate<T>(const ConstArrayView<T>&, const ArrayView<T>&);            \
  template DistributedArray<T> conj<T>(const ConstArrayView<T>&);                       \
  template DistributedArray<Real<T>> abs<T>(const ConstArrayView<T>&);                  \
  template DistributedArray<Real<T>> real<T>(const ConstArrayView<T>&);                 \
  template DistributedArray<Real<T>> imag<T>(const ConstArrayView<T>&);                 \
  template DistributedArray<std::complex<float>> astype<std::complex<float>, T>(        \
      const ConstArrayView<T>&);                                                        \
  template DistributedArray<std::complex<double>> astype<std::complex<double>, T>(      \
      const ConstArrayView<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

template DistributedArray<float> astype<float, float>(const ConstArrayView<float>&);
template DistributedArray<float> astype<float, double>(const ConstArrayView<double>&);
template DistributedArray<double> astype<double, float>(const ConstArrayView<float>&);
template DistributedArray<double> astype<double, double>(const ConstArrayView<double>&);

}  // namespace weft
