#include "array/reduction_kernels.hpp"

#include <weft/core/for_each.hpp>
#include <weft/core/reduce.hpp>

#include "array/kernel_math.hpp"

#include <limits>

namespace weft::kernels {
namespace {

/// In double, whose range holds the magnitude of any complex<float>.
template <class R>
WEFT_KERNEL double wide_abs(R x) {
  return std::abs(static_cast<double>(x));
}
WEFT_KERNEL double wide_abs(Complex<float> z) {
  const Complex<double> wide(z);
  return std::sqrt(wide.re * wide.re + wide.im * wide.im);
}
WEFT_KERNEL double wide_abs(Complex<double> z) { return std::hypot(z.re, z.im); }

template <class R>
WEFT_KERNEL double square_of(R x, double scale) {
  const double wide = static_cast<double>(x) * scale;
  return wide * wide;
}
template <class R>
WEFT_KERNEL double square_of(Complex<R> z, double scale) {
  return square_of(z.re, scale) + square_of(z.im, scale);
}

struct Add {
  template <class A>
  WEFT_KERNEL A operator()(A a, A b) const {
    return a + b;
  }
};
// Once NaN, always NaN: comparisons with NaN are false.
struct Larger {
  template <class A>
  WEFT_KERNEL A operator()(A a, A b) const {
    return a < b || b != b ? b : a;
  }
};
struct Smaller {
  template <class A>
  WEFT_KERNEL A operator()(A a, A b) const {
    return b < a || b != b ? b : a;
  }
};

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

template <class Device, class T>
SumOf<T> dot(Device device, index_t n, const T* x, const T* y) {
  return reduce(
      device, n, SumOf<T>{},
      [=] WEFT_KERNEL(index_t i) { return SumOf<T>(conj_of(x[i])) * SumOf<T>(y[i]); }, Add{});
}

template <class Device, class T>
SumOf<T> dot_plain(Device device, index_t n, const T* x, const T* y) {
  return reduce(
      device, n, SumOf<T>{}, [=] WEFT_KERNEL(index_t i) { return SumOf<T>(x[i]) * SumOf<T>(y[i]); },
      Add{});
}

template <class Device, class T>
SumOf<T> axpy_dot(Device device, index_t n, T a, const T* x, T* y, const T* z) {
  // With z = y the new value is at hand, and need not be read back.
  if (z == y) {
    return reduce(
        device, n, SumOf<T>{},
        [=] WEFT_KERNEL(index_t i) {
          const T updated = y[i] + a * x[i];
          y[i] = updated;
          return SumOf<T>(conj_of(updated)) * SumOf<T>(updated);
        },
        Add{});
  }
  return reduce(
      device, n, SumOf<T>{},
      [=] WEFT_KERNEL(index_t i) {
        const T updated = y[i] + a * x[i];
        y[i] = updated;
        return SumOf<T>(conj_of(z[i])) * SumOf<T>(updated);
      },
      Add{});
}

template <class Device, class T>
SumOf<T> sum(Device device, index_t n, const T* x) {
  return reduce(
      device, n, SumOf<T>{}, [=] WEFT_KERNEL(index_t i) { return SumOf<T>(x[i]); }, Add{});
}

template <class Device, class T>
T min(Device device, index_t n, const T* x) {
  return reduce(
      device, n, static_cast<T>(infinity), [=] WEFT_KERNEL(index_t i) { return x[i]; }, Smaller{});
}

template <class Device, class T>
T max(Device device, index_t n, const T* x) {
  return reduce(
      device, n, static_cast<T>(-infinity), [=] WEFT_KERNEL(index_t i) { return x[i]; }, Larger{});
}

template <class Device, class T>
std::uint64_t hash(Device device, index_t n, const T* x) {
  constexpr index_t words = sizeof(T) / 4;
  const auto* bits = reinterpret_cast<const std::uint32_t*>(x);
  return reduce(
      device, n * words, std::uint64_t{0},
      [=] WEFT_KERNEL(index_t i) {
        const std::uint64_t mixed =
            (bits[i] + 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(i + 1)) *
            0xbf58476d1ce4e5b9U;
        return mixed ^ (mixed >> 31);
      },
      Add{});
}

template <class Device, class T>
double norm_terms(Device device, index_t n, const T* x, NormTerm term, double power, double scale) {
  switch (term) {
    case NormTerm::nonzero:
      return reduce(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return is_nonzero(x[i]) ? 1.0 : 0.0; },
          Add{});
    case NormTerm::magnitude:
      return reduce(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return wide_abs(x[i]); }, Add{});
    case NormTerm::square:
      return reduce(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return square_of(x[i], scale); }, Add{});
    case NormTerm::power:
      return reduce(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return std::pow(wide_abs(x[i]), power); },
          Add{});
    case NormTerm::largest:
      return reduce(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return wide_abs(x[i]); }, Larger{});
    case NormTerm::smallest: break;
  }
  return reduce(
      device, n, infinity, [=] WEFT_KERNEL(index_t i) { return wide_abs(x[i]); }, Smaller{});
}

template <class Device, class T>
void norm_terms_along(Device device, index_t outer, index_t n, index_t inner, const T* x,
                      NormTerm term, double power, double* out) {
  const auto value = [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    return x[(o * n + i) * inner + k];
  };
  const auto store = [=] WEFT_KERNEL(index_t o, index_t k, double result) {
    out[o * inner + k] = result;
  };
  const auto magnitude_at = [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    return wide_abs(value(o, i, k));
  };
  switch (term) {
    case NormTerm::nonzero:
      return reduce(
          device, outer, n, inner, 0.0,
          [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
            return is_nonzero(value(o, i, k)) ? 1.0 : 0.0;
          },
          Add{}, store);
    case NormTerm::magnitude:
      return reduce(device, outer, n, inner, 0.0, magnitude_at, Add{}, store);
    case NormTerm::square:
      return reduce(
          device, outer, n, inner, 0.0,
          [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
            return square_of(value(o, i, k), 1.0);
          },
          Add{}, store);
    case NormTerm::power:
      return reduce(
          device, outer, n, inner, 0.0,
          [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
            return std::pow(magnitude_at(o, i, k), power);
          },
          Add{}, store);
    case NormTerm::largest:
      return reduce(device, outer, n, inner, 0.0, magnitude_at, Larger{}, store);
    case NormTerm::smallest: break;
  }
  reduce(device, outer, n, inner, infinity, magnitude_at, Smaller{}, store);
}

template <class Device, class R>
void raise(Device device, index_t n, double power, const double* x, R* y) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = static_cast<R>(std::pow(x[i], power)); });
}

#define INSTANTIATE_REAL(R)                            \
  template R min(WEFT_THIS_DEVICE, index_t, const R*); \
  template R max(WEFT_THIS_DEVICE, index_t, const R*); \
  template void raise(WEFT_THIS_DEVICE, index_t, double, const double*, R*);
INSTANTIATE_REAL(float)
INSTANTIATE_REAL(double)
#undef INSTANTIATE_REAL

#define INSTANTIATE(T)                                                                            \
  template SumOf<T> dot(WEFT_THIS_DEVICE, index_t, const T*, const T*);                           \
  template SumOf<T> dot_plain(WEFT_THIS_DEVICE, index_t, const T*, const T*);                     \
  template SumOf<T> axpy_dot(WEFT_THIS_DEVICE, index_t, T, const T*, T*, const T*);               \
  template SumOf<T> sum(WEFT_THIS_DEVICE, index_t, const T*);                                     \
  template std::uint64_t hash(WEFT_THIS_DEVICE, index_t, const T*);                               \
  template double norm_terms(WEFT_THIS_DEVICE, index_t, const T*, NormTerm, double, double);      \
  template void norm_terms_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, const T*, NormTerm, \
                                 double, double*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
