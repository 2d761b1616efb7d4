#include "op/basic/complex_parts_kernels.hpp"

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

struct TakeReal {
  template <class R>
  WEFT_FUNCTION R operator()(Complex<R> z) const {
    return z.re;
  }
};
struct TakeImag {
  template <class R>
  WEFT_FUNCTION R operator()(Complex<R> z) const {
    return z.im;
  }
};
struct PutReal {
  template <class R>
  WEFT_FUNCTION Complex<R> operator()(R x) const {
    return {x, R{}};
  }
};
struct PutImag {
  template <class R>
  WEFT_FUNCTION Complex<R> operator()(R x) const {
    return {R{}, x};
  }
};
struct TakeConjugate {
  template <class R>
  WEFT_FUNCTION Complex<R> operator()(Complex<R> z) const {
    return conj_of(z);
  }
};

template <class Device, class T, class U, class F, class Put>
void map_each(Device device, index_t n, const T* x, U* y, F f, Put put) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { put(f(x[i]), y[i]); });
}

template <class Device, class T, class U, class F>
void map(Device device, index_t n, U alpha, const T* x, U beta, U* y, F f) {
  with_update(alpha, beta, [&](auto put) { map_each(device, n, x, y, f, put); });
}

}  // namespace

template <class Device, class R>
void take_part(Device device, index_t n, Part part, R alpha, const Complex<R>* x, R beta, R* y) {
  if (part == Part::real) {
    map(device, n, alpha, x, beta, y, TakeReal{});
  } else {
    map(device, n, alpha, x, beta, y, TakeImag{});
  }
}

template <class Device, class R>
void put_part(Device device, index_t n, Part part, Complex<R> alpha, const R* x, Complex<R> beta,
              Complex<R>* y) {
  if (part == Part::real) {
    map(device, n, alpha, x, beta, y, PutReal{});
  } else {
    map(device, n, alpha, x, beta, y, PutImag{});
  }
}

template <class Device, class R>
void put_conjugate(Device device, index_t n, Complex<R> alpha, const Complex<R>* x, Complex<R> beta,
                   Complex<R>* y) {
  map(device, n, alpha, x, beta, y, TakeConjugate{});
}

#define INSTANTIATE(R)                                                                      \
  template void take_part(WEFT_THIS_DEVICE, index_t, Part, R, const Complex<R>*, R, R*);    \
  template void put_part(WEFT_THIS_DEVICE, index_t, Part, Complex<R>, const R*, Complex<R>, \
                         Complex<R>*);                                                      \
  template void put_conjugate(WEFT_THIS_DEVICE, index_t, Complex<R>, const Complex<R>*,     \
                              Complex<R>, Complex<R>*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
