#include <weft/array/arithmetic.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/checks.hpp"
#include "array/vector_kernels.hpp"

namespace weft {

template <Scalar T>
void copy(const DistributedArray<T>& x, DistributedArray<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "copy");
  dispatch(y.device(), [&](auto device) {
    kernels::copy(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
}

template <Scalar T>
void scale(Coefficient<T> a, DistributedArray<T>& x) {
  dispatch(x.device(), [&](auto device) {
    kernels::scale(device, x.local_count(), kernel_value(a.value), kernel_cast(x.data()));
  });
}

template <Scalar T>
void axpy(Coefficient<T> a, const DistributedArray<T>& x, DistributedArray<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "axpy");
  dispatch(y.device(), [&](auto device) {
    kernels::axpy(device, y.local_count(), kernel_value(a.value), kernel_cast(x.data()),
                  kernel_cast(y.data()));
  });
}

template <Scalar T>
void axpby(Coefficient<T> a, const DistributedArray<T>& x, Coefficient<T> b,
           DistributedArray<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "axpby");
  dispatch(y.device(), [&](auto device) {
    kernels::axpby(device, y.local_count(), kernel_value(a.value), kernel_cast(x.data()),
                   kernel_value(b.value), kernel_cast(y.data()));
  });
}

template <Scalar T>
void multiply(const DistributedArray<T>& x, DistributedArray<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "multiply");
  dispatch(y.device(), [&](auto device) {
    kernels::multiply(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
}

template <Scalar T>
void conjugate(const DistributedArray<T>& x, DistributedArray<T>& y) {
  detail::require_equal(x.layout(), y.layout(), "conjugate");
  dispatch(y.device(), [&](auto device) {
    kernels::conjugate(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
}

template <Scalar T>
DistributedArray<T> conj(const DistributedArray<T>& x) {
  DistributedArray<T> y(x.layout(), uninitialized);
  conjugate(x, y);
  return y;
}

template <Scalar T>
DistributedArray<Real<T>> abs(const DistributedArray<T>& x) {
  DistributedArray<Real<T>> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::magnitude(device, y.local_count(), kernel_cast(x.data()), y.data());
  });
  return y;
}

template <Scalar T>
DistributedArray<Real<T>> real(const DistributedArray<T>& x) {
  DistributedArray<Real<T>> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::real_part(device, y.local_count(), kernel_cast(x.data()), y.data());
  });
  return y;
}

template <Scalar T>
DistributedArray<Real<T>> imag(const DistributedArray<T>& x) {
  DistributedArray<Real<T>> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::imaginary_part(device, y.local_count(), kernel_cast(x.data()), y.data());
  });
  return y;
}

template <Scalar U, Scalar T>
  requires(is_complex<U> || !is_complex<T>)
DistributedArray<U> astype(const DistributedArray<T>& x) {
  DistributedArray<U> y(x.layout(), uninitialized);
  dispatch(x.device(), [&](auto device) {
    kernels::convert(device, y.local_count(), kernel_cast(x.data()), kernel_cast(y.data()));
  });
  return y;
}

#define INSTANTIATE(T)                                                                     \
  template void copy<T>(const DistributedArray<T>&, DistributedArray<T>&);                 \
  template void scale<T>(Coefficient<T>, DistributedArray<T>&);                            \
  template void axpy<T>(Coefficient<T>, const DistributedArray<T>&, DistributedArray<T>&); \
  template void axpby<T>(Coefficient<T>, const DistributedArray<T>&, Coefficient<T>,       \
                         DistributedArray<T>&);                                            \
  template void multiply<T>(const DistributedArray<T>&, DistributedArray<T>&);             \
  template void conjugate<T>(const DistributedArray<T>&, DistributedArray<T>&);            \
  template DistributedArray<T> conj<T>(const DistributedArray<T>&);                        \
  template DistributedArray<Real<T>> abs<T>(const DistributedArray<T>&);                   \
  template DistributedArray<Real<T>> real<T>(const DistributedArray<T>&);                  \
  template DistributedArray<Real<T>> imag<T>(const DistributedArray<T>&);                  \
  template DistributedArray<std::complex<float>> astype<std::complex<float>, T>(           \
      const DistributedArray<T>&);                                                         \
  template DistributedArray<std::complex<double>> astype<std::complex<double>, T>(         \
      const DistributedArray<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

template DistributedArray<float> astype<float, float>(const DistributedArray<float>&);
template DistributedArray<float> astype<float, double>(const DistributedArray<double>&);
template DistributedArray<double> astype<double, float>(const DistributedArray<float>&);
template DistributedArray<double> astype<double, double>(const DistributedArray<double>&);

}  // namespace weft
