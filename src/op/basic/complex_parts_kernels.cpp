#include "op/basic/complex_parts_kernels.hpp"

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

struct ToReal {
  template <class R>
  WEFT_FUNCTION R operator()(Complex<R> z) const {
    return z.re;
  }
};
struct ToImag {
  template <class R>
  WEFT_FUNCTION R operator()(Complex<R> z) const {
    return z.im;
  }
};
struct FromReal {
  template <class R>
  WEFT_FUNCTION Complex<R> operator()(R x) const {
    return {x, R{}};
  }
};
struct FromImag {
  template <class R>
  WEFT_FUNCTION Complex<R> operator()(R x) const {
    return {R{}, x};
  }
};
struct ToConjugate {
  template <class R>
  WEFT_FUNCTION Complex<R> operator()(Complex<R> z) const {
    return conj_of(z);
  }
};

template <class Device, class T, class U, class F, class Update>
void map_each(Device device, index_t n, const T* x, U* y, F f, Update update) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { update(f(x[i]), y[i]); });
}

template <class Device, class T, class U, class F>
void map(Device device, index_t n, U alpha, const T* x, U beta, U* y, F f) {
  with_update(alpha, beta, [&](auto update) { map_each(device, n, x, y, f, update); });
}

}  // namespace

template <class Device, class R>
void extract_part(Device device, index_t n, Part part, R alpha, const Complex<R>* x, R beta, R* y) {
  if (part == Part::real) {
    map(device, n, alpha, x, beta, y, ToReal{});
  } else {
    map(device, n, alpha, x, beta, y, ToImag{});
  }
}

template <class Device, class R>
void insert_part(Device device, index_t n, Part part, Complex<R> alpha, const R* x, Complex<R> beta,
                 Complex<R>* y) {
  if (part == Part::real) {
    map(device, n, alpha, x, beta, y, FromReal{});
  } else {
    map(device, n, alpha, x, beta, y, FromImag{});
  }
}

template <class Device, class R>
void axpby_conj(Device device, index_t n, Complex<R> alpha, const Complex<R>* x, Complex<R> beta,
                Complex<R>* y) {
  map(device, n, alpha, x, beta, y, ToConjugate{});
}

#define INSTANTIATE(R)                                                                           \
  template void extract_part(WEFT_THIS_DEVICE, index_t, Part, R, const Complex<R>*, R, R*);      \
  template void insert_part(WEFT_THIS_DEVICE, index_t, Part, Complex<R>, const R*, Complex<R>,   \
                            Complex<R>*);                                                        \
  template void axpby_conj(WEFT_THIS_DEVICE, index_t, Complex<R>, const Complex<R>*, Complex<R>, \
                           Complex<R>*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
