#include "array/reduction_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "core/hash.hpp"
#include "kernel/kernel_math.hpp"

#include <limits>

namespace weft::kernels {
namespace {

/// In double, since the magnitude of a complex<float> may exceed the range of float.
template <class R>
WEFT_FUNCTION double wide_abs(R x) {
  return std::abs(static_cast<double>(x));
}
WEFT_FUNCTION double wide_abs(Complex<float> z) {
  const Complex<double> wide(z);
  return std::sqrt(wide.re * wide.re + wide.im * wide.im);
}
WEFT_FUNCTION double wide_abs(Complex<double> z) { return std::hypot(z.re, z.im); }

template <class R>
WEFT_FUNCTION double square_of(R x, double scale) {
  const double wide = static_cast<double>(x) * scale;
  return wide * wide;
}
template <class R>
WEFT_FUNCTION double square_of(Complex<R> z, double scale) {
  return square_of(z.re, scale) + square_of(z.im, scale);
}

/// The power of a magnitude, clamped so that it is infinite only for zero and infinity.
WEFT_FUNCTION double power_of(double magnitude, double power) {
  const double result = std::pow(magnitude, power);
  const bool infinite = magnitude == 0 || magnitude == std::numeric_limits<double>::infinity();
  return result > largest_term && !infinite ? largest_term : result;
}

// NaN propagates: comparisons with NaN are false.
struct Larger {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return a < b || b != b ? b : a;
  }
};
struct Smaller {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return b < a || b != b ? b : a;
  }
};

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

template <class Device, class T>
void dot(Device device, index_t n, const T* x, const T* y, SumOf<T>* out) {
  reduce_into(
      device, n, SumOf<T>{},
      [=] WEFT_KERNEL(index_t i) { return SumOf<T>(conj_of(x[i])) * SumOf<T>(y[i]); }, Add{}, out);
}

template <class Device, class T>
void dot_plain(Device device, index_t n, const T* x, const T* y, SumOf<T>* out) {
  reduce_into(
      device, n, SumOf<T>{}, [=] WEFT_KERNEL(index_t i) { return SumOf<T>(x[i]) * SumOf<T>(y[i]); },
      Add{}, out);
}

template <class Device, class T>
void axpy_dot(Device device, index_t n, T a, const T* x, T* y, const T* z, SumOf<T>* out) {
  // With z = y, the new value need not be read back.
  if (z == y) {
    update_and_reduce_into(
        device, n, SumOf<T>{}, Targets{y},
        [=] WEFT_KERNEL(T & y_i, T x_i) {
          y_i = y_i + a * x_i;
          return SumOf<T>(conj_of(y_i)) * SumOf<T>(y_i);
        },
        Add{}, out, x);
    return;
  }
  update_and_reduce_into(
      device, n, SumOf<T>{}, Targets{y},
      [=] WEFT_KERNEL(T & y_i, T x_i, T z_i) {
        y_i = y_i + a * x_i;
        return SumOf<T>(conj_of(z_i)) * SumOf<T>(y_i);
      },
      Add{}, out, x, z);
}

template <class Device, class T>
void sum(Device device, index_t n, const T* x, SumOf<T>* out) {
  reduce_into(
      device, n, SumOf<T>{}, [=] WEFT_KERNEL(index_t i) { return SumOf<T>(x[i]); }, Add{}, out);
}

template <class Device, class T>
void min(Device device, index_t n, const T* x, T* out) {
  reduce_into(
      device, n, static_cast<T>(infinity), [=] WEFT_KERNEL(index_t i) { return x[i]; }, Smaller{},
      out);
}

template <class Device, class T>
void max(Device device, index_t n, const T* x, T* out) {
  reduce_into(
      device, n, static_cast<T>(-infinity), [=] WEFT_KERNEL(index_t i) { return x[i]; }, Larger{},
      out);
}

template <class Device, class T>
void hash(Device device, index_t n, const T* x, std::uint64_t* out) {
  constexpr index_t words = sizeof(T) / 4;
  const auto* bits = reinterpret_cast<const std::uint32_t*>(x);
  reduce_into(
      device, n * words, std::uint64_t{0},
      [=] WEFT_KERNEL(index_t i) {
        const std::uint64_t mixed =
            (bits[i] + detail::golden_ratio_bits * static_cast<std::uint64_t>(i + 1)) *
            0xbf58476d1ce4e5b9U;
        return mixed ^ (mixed >> 31);
      },
      Add{}, out);
}

template <class Device, class T>
void count_different_words(Device device, index_t n, const T* x, const T* y, std::int64_t* out) {
  const auto* first = reinterpret_cast<const std::uint32_t*>(x);
  const auto* second = reinterpret_cast<const std::uint32_t*>(y);
  reduce_into(
      device, n * index_t{sizeof(T) / 4}, std::int64_t{0},
      [=] WEFT_KERNEL(index_t i) { return std::int64_t{first[i] != second[i]}; }, Add{}, out);
}

template <class Device, class T>
void norm_terms(Device device, index_t n, const T* x, NormTerm term, double power, double scale,
                double* out) {
  const auto magnitude_at = [=] WEFT_KERNEL(index_t i) { return wide_abs(x[i]); };
  switch (term) {
    case NormTerm::nonzero:
      return reduce_into(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return is_nonzero(x[i]) ? 1.0 : 0.0; },
          Add{}, out);
    case NormTerm::magnitude: return reduce_into(device, n, 0.0, magnitude_at, Add{}, out);
    case NormTerm::square:
      return reduce_into(
          device, n, 0.0, [=] WEFT_KERNEL(index_t i) { return square_of(x[i], scale); }, Add{},
          out);
    case NormTerm::power:
      return reduce_into(
          device, n, 0.0,
          [=] WEFT_KERNEL(index_t i) { return power_of(wide_abs(x[i]) / scale, power); }, Add{},
          out);
    case NormTerm::largest: return reduce_into(device, n, 0.0, magnitude_at, Larger{}, out);
    case NormTerm::smallest: break;
  }
  reduce_into(device, n, infinity, magnitude_at, Smaller{}, out);
}

template <class Device, class T>
void norm_terms_along(Device device, index_t outer, index_t n, index_t inner, const T* x,
                      NormTerm term, double power, const double* scale, double* out) {
  const auto store = [=] WEFT_KERNEL(index_t o, index_t k, double result) {
    out[o * inner + k] = result;
  };
  const auto magnitude_at = [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    return wide_abs(x[(o * n + i) * inner + k]);
  };
  switch (term) {
    case NormTerm::nonzero:
      return reduce(
          device, outer, n, inner, 0.0,
          [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
            return is_nonzero(x[(o * n + i) * inner + k]) ? 1.0 : 0.0;
          },
          Add{}, store);
    case NormTerm::magnitude:
      return reduce(device, outer, n, inner, 0.0, magnitude_at, Add{}, store);
    case NormTerm::square:
      return reduce(
          device, outer, n, inner, 0.0,
          [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
            return square_of(x[(o * n + i) * inner + k], 1.0);
          },
          Add{}, store);
    case NormTerm::power:
      return reduce(
          device, outer, n, inner, 0.0,
          [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
            const double magnitude = wide_abs(x[(o * n + i) * inner + k]);
            return power_of(scale == nullptr ? magnitude : magnitude / scale[o * inner + k], power);
          },
          Add{}, store);
    case NormTerm::largest:
      return reduce(device, outer, n, inner, 0.0, magnitude_at, Larger{}, store);
    case NormTerm::smallest: break;
  }
  reduce(device, outer, n, inner, infinity, magnitude_at, Smaller{}, store);
}

template <class Device>
void to_ordered_bits(Device device, index_t n, bool smallest, double* x) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    x[i] = std::bit_cast<double>(ordered_bits(x[i], smallest));
  });
}

template <class Device>
void from_ordered_bits(Device device, index_t n, double* x) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    x[i] = number_of_bits(std::bit_cast<std::int64_t>(x[i]));
  });
}

template <class Device, class R>
void raise(Device device, index_t n, double power, const double* x, R* y) {
  // Common powers without pow(), which need not be exact.
  if (power == 1) {
    for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = static_cast<R>(x[i]); });
  } else if (power == 0.5) {
    for_each(device, n, [=] WEFT_KERNEL(index_t i) { y[i] = static_cast<R>(std::sqrt(x[i])); });
  } else {
    for_each(device, n,
             [=] WEFT_KERNEL(index_t i) { y[i] = static_cast<R>(std::pow(x[i], power)); });
  }
}

template <class Device>
void count_out_of_range(Device device, index_t n, const double* sums, NormTerm term,
                        const double* dominant, double* out) {
  reduce_into(
      device, n, 0.0,
      [=] WEFT_KERNEL(index_t i) {
        const bool counts =
            is_out_of_range(sums[i], term) && (dominant == nullptr || can_scale(dominant[i]));
        return counts ? 1.0 : 0.0;
      },
      Add{}, out);
}

template <class Device, class R>
void raise_scaled(Device device, index_t n, double order, NormTerm term, const double* sums,
                  const double* scale, const double* scaled, R* y) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    if (!is_out_of_range(sums[i], term)) return;
    y[i] =
        static_cast<R>(can_scale(scale[i]) ? scale[i] * std::pow(scaled[i], 1 / order) : scale[i]);
  });
}

#define INSTANTIATE_REAL(R)                                                              \
  template void min(WEFT_THIS_DEVICE, index_t, const R*, R*);                            \
  template void max(WEFT_THIS_DEVICE, index_t, const R*, R*);                            \
  template void raise(WEFT_THIS_DEVICE, index_t, double, const double*, R*);             \
  template void raise_scaled(WEFT_THIS_DEVICE, index_t, double, NormTerm, const double*, \
                             const double*, const double*, R*);
INSTANTIATE_REAL(float)
INSTANTIATE_REAL(double)
#undef INSTANTIATE_REAL
template void count_out_of_range(WEFT_THIS_DEVICE, index_t, const double*, NormTerm, const double*,
                                 double*);
template void to_ordered_bits(WEFT_THIS_DEVICE, index_t, bool, double*);
template void from_ordered_bits(WEFT_THIS_DEVICE, index_t, double*);

#define INSTANTIATE(T)                                                                            \
  template void dot(WEFT_THIS_DEVICE, index_t, const T*, const T*, SumOf<T>*);                    \
  template void dot_plain(WEFT_THIS_DEVICE, index_t, const T*, const T*, SumOf<T>*);              \
  template void axpy_dot(WEFT_THIS_DEVICE, index_t, T, const T*, T*, const T*, SumOf<T>*);        \
  template void sum(WEFT_THIS_DEVICE, index_t, const T*, SumOf<T>*);                              \
  template void hash(WEFT_THIS_DEVICE, index_t, const T*, std::uint64_t*);                        \
  template void count_different_words(WEFT_THIS_DEVICE, index_t, const T*, const T*,              \
                                      std::int64_t*);                                             \
  template void norm_terms(WEFT_THIS_DEVICE, index_t, const T*, NormTerm, double, double,         \
                           double*);                                                              \
  template void norm_terms_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, const T*, NormTerm, \
                                 double, const double*, double*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
