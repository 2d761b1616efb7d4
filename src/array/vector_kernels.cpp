#include "array/vector_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_math.hpp"

#include <cstring>

namespace weft::kernels {

template <class Device, class T>
void fill(Device device, index_t n, T value, T* x) {
  transform(device, n, x, [=] WEFT_KERNEL() { return value; });
}

// memcpy and the GPU's driver choose the fastest stores for the size of a copy.
#if defined(__CUDACC__)
template <class Device, class T>
void copy(Device device, index_t n, const T* x, T* y) {
  cudaMemcpyAsync(y, x, static_cast<std::size_t>(n) * sizeof(T), cudaMemcpyDeviceToDevice,
                  detail::stream_of(device));
  detail::check_cuda_launch();
}
#else
template <class Device, class T>
void copy(Device, index_t n, const T* x, T* y) {
  if (n == 0 || x == y) return;
  const int chunks = detail::threads_for(n);
  detail::share_jobs(chunks, chunks, [=](index_t chunk) {
    const index_t first = n * chunk / chunks;
    const index_t last = n * (chunk + 1) / chunks;
    std::memcpy(static_cast<void*>(y + first), x + first,
                static_cast<std::size_t>(last - first) * sizeof(T));
  });
}
#endif

template <class Device, class T>
void scale(Device device, index_t n, T a, T* x) {
  transform(
      device, n, x, [=] WEFT_KERNEL(T each) { return a * each; }, x);
}

template <class Device, class T>
void add(Device device, index_t n, T a, T* x) {
  transform(
      device, n, x, [=] WEFT_KERNEL(T each) { return each + a; }, x);
}

template <class Device, class T>
void axpy(Device device, index_t n, T a, const T* x, T* y) {
  transform(
      device, n, y, [=] WEFT_KERNEL(T x_i, T y_i) { return y_i + a * x_i; }, x, y);
}

template <class Device, class T>
void axpby(Device device, index_t n, T a, const T* x, T b, T* y) {
  if (is_nonzero(b)) {
    transform(
        device, n, y, [=] WEFT_KERNEL(T x_i, T y_i) { return a * x_i + b * y_i; }, x, y);
  } else {
    transform(
        device, n, y, [=] WEFT_KERNEL(T x_i) { return a * x_i; }, x);
  }
}

template <class Device, class T>
void multiply(Device device, index_t n, const T* x, T* y) {
  transform(
      device, n, y, [=] WEFT_KERNEL(T x_i, T y_i) { return y_i * x_i; }, x, y);
}

template <class Device, class T>
void conjugate(Device device, index_t n, const T* x, T* y) {
  transform(
      device, n, y, [=] WEFT_KERNEL(T each) { return conj_of(each); }, x);
}

template <class Device, class T>
void magnitude(Device device, index_t n, const T* x, RealOf<T>* y) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = abs_of(x[i]); });
}

template <class Device, class T>
void real_part(Device device, index_t n, const T* x, RealOf<T>* y) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = real_of(x[i]); });
}

template <class Device, class T>
void imaginary_part(Device device, index_t n, const T* x, RealOf<T>* y) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = imag_of(x[i]); });
}

template <class Device, class T, class U>
void convert(Device device, index_t n, const T* x, U* y) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = convert_to<U>(x[i]); });
}

#define INSTANTIATE(T)                                                      \
  template void fill(WEFT_THIS_DEVICE, index_t, T, T*);                     \
  template void copy(WEFT_THIS_DEVICE, index_t, const T*, T*);              \
  template void scale(WEFT_THIS_DEVICE, index_t, T, T*);                    \
  template void add(WEFT_THIS_DEVICE, index_t, T, T*);                      \
  template void axpy(WEFT_THIS_DEVICE, index_t, T, const T*, T*);           \
  template void axpby(WEFT_THIS_DEVICE, index_t, T, const T*, T, T*);       \
  template void multiply(WEFT_THIS_DEVICE, index_t, const T*, T*);          \
  template void conjugate(WEFT_THIS_DEVICE, index_t, const T*, T*);         \
  template void magnitude(WEFT_THIS_DEVICE, index_t, const T*, RealOf<T>*); \
  template void real_part(WEFT_THIS_DEVICE, index_t, const T*, RealOf<T>*); \
  template void imaginary_part(WEFT_THIS_DEVICE, index_t, const T*, RealOf<T>*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

#define INSTANTIATE_CONVERT(T, U) template void convert(WEFT_THIS_DEVICE, index_t, const T*, U*);
INSTANTIATE_CONVERT(float, float)
INSTANTIATE_CONVERT(float, double)
INSTANTIATE_CONVERT(float, Complex<float>)
INSTANTIATE_CONVERT(float, Complex<double>)
INSTANTIATE_CONVERT(double, float)
INSTANTIATE_CONVERT(double, double)
INSTANTIATE_CONVERT(double, Complex<float>)
INSTANTIATE_CONVERT(double, Complex<double>)
INSTANTIATE_CONVERT(Complex<float>, Complex<float>)
INSTANTIATE_CONVERT(Complex<float>, Complex<double>)
INSTANTIATE_CONVERT(Complex<double>, Complex<float>)
INSTANTIATE_CONVERT(Complex<double>, Complex<double>)
#undef INSTANTIATE_CONVERT

}  // namespace weft::kernels
