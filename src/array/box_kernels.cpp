#include "array/box_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#if defined(__CUDACC__)
#include "array/cuda/box_visits.cuh"
#else
#include "array/box_visits.hpp"
#endif

namespace weft::kernels {
namespace {

struct Accumulate {
  template <class T>
  WEFT_FUNCTION void operator()(const T& source, T& target) const {
    target += source;
  }
};

template <class T>
struct Scale {
  T beta;
  WEFT_FUNCTION void operator()(const T&, T& target) const { target = beta * target; }
};
struct Clear {
  template <class T>
  WEFT_FUNCTION void operator()(const T&, T& target) const {
    target = T{};
  }
};

template <class Device, class T, class F>
void visit_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
               const Index& to_strides, F f) {
  if (shape.count() == 0) return;
  BoxLoops loops = plan_loops(shape, from_strides, to_strides);
  if (make_transposition(loops)) return visit_tiles(device, loops, from, to, f);
  const int last = loops.depth - 1;
  if (loops.has_runs()) {
    visit_rows(device, loops, from, 1, to, 1, f);
  } else {
    visit_rows(device, loops, from, loops.from[last], to, loops.to[last], f);
  }
}

}  // namespace

template <class Device, class T>
void copy_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
              const Index& to_strides) {
  visit_box(device, shape, from, from_strides, to, to_strides, Assign{});
}

template <class Device, class T>
void add_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
             const Index& to_strides) {
  visit_box(device, shape, from, from_strides, to, to_strides, Accumulate{});
}

template <class Device, class T>
void axpby_box(Device device, const Shape& shape, T alpha, const T* from, const Index& from_strides,
               T beta, T* to, const Index& to_strides) {
  if (!is_nonzero(beta) && !is_nonzero(alpha - T{1})) {
    return copy_box(device, shape, from, from_strides, to, to_strides);
  }
  with_update(alpha, beta,
              [&](auto put) { visit_box(device, shape, from, from_strides, to, to_strides, put); });
}

template <class Device, class T>
void scale_box(Device device, const Shape& shape, T beta, T* x, const Index& strides) {
  if (is_nonzero(beta)) {
    visit_box(device, shape, x, strides, x, strides, Scale<T>{beta});
  } else {
    visit_box(device, shape, x, strides, x, strides, Clear{});
  }
}

#define INSTANTIATE(T)                                                                             \
  template void copy_box(WEFT_THIS_DEVICE, const Shape&, const T*, const Index&, T*,               \
                         const Index&);                                                            \
  template void add_box(WEFT_THIS_DEVICE, const Shape&, const T*, const Index&, T*, const Index&); \
  template void axpby_box(WEFT_THIS_DEVICE, const Shape&, T, const T*, const Index&, T, T*,        \
                          const Index&);                                                           \
  template void scale_box(WEFT_THIS_DEVICE, const Shape&, T, T*, const Index&);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
