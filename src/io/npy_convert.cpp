#include "io/npy_convert.hpp"

#include <weft/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <limits>

namespace weft::detail {
namespace {

/// The number of significant bits of a real type.
template <class T>
constexpr int digits_of = std::numeric_limits<T>::digits;
template <>
constexpr int digits_of<Half> = 11;
template <>
constexpr int digits_of<BFloat16> = 8;

template <class From, class T>
constexpr bool is_exact = digits_of<From> <= digits_of<Real<T>>;
template <class R, class T>
constexpr bool is_exact<std::complex<R>, T> = is_complex<T>&& digits_of<R> <= digits_of<Real<T>>;

/// Integers with more bits than a double: whether one is exact depends on its value.
template <class From, class T>
constexpr bool depends_on_value = std::integral<From> &&
                                  sizeof(From) == 8 && std::same_as<Real<T>, double>;

template <class T, class From>
T converted(From value) {
  if constexpr (std::same_as<From, Half> || std::same_as<From, BFloat16>) {
    return static_cast<Real<T>>(static_cast<float>(value));
  } else if constexpr (std::integral<From> || std::floating_point<From>) {
    return static_cast<Real<T>>(value);
  } else {
    return T(static_cast<Real<T>>(value.real()), static_cast<Real<T>>(value.imag()));
  }
}

/// Whether it has at most 53 bits, without trailing zeros.
template <class Integer>
bool fits_double(Integer value) {
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) magnitude = 0 - magnitude;
  constexpr std::uint64_t limit = std::uint64_t{1} << 53;
  while (magnitude > limit && magnitude % 2 == 0) magnitude /= 2;
  return magnitude <= limit;
}

}  // namespace

void swap_bytes(void* data, index_t count, DType dtype) {
  const index_t width = is_complex_type(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  auto* bytes = static_cast<char*>(data);
  const index_t numbers = count * size_of(dtype) / width;
  for (index_t i = 0; i < numbers; ++i) std::reverse(bytes + i * width, bytes + (i + 1) * width);
}

template <Scalar T>
bool converts(DType from) {
  return with_type(from, [](auto sample) {
    using From = decltype(sample);
    return is_exact<From, T> || depends_on_value<From, T>;
  });
}

template <Scalar T>
void convert(const std::string& path, DType dtype, const void* from, std::span<T> to) {
  with_type(dtype, [&](auto sample) {
    using From = decltype(sample);
    const auto* values = static_cast<const From*>(from);
    if constexpr (is_exact<From, T> || depends_on_value<From, T>) {
      bool all_fit = true;
      for (std::size_t i = 0; i < to.size(); ++i) {
        if constexpr (depends_on_value<From, T>) all_fit = all_fit && fits_double(values[i]);
        to[i] = converted<T>(values[i]);
      }
      if constexpr (depends_on_value<From, T>) {
        if (all_fit) return;
        refuse(
            "read_npy: '{}' has the number {}, which {} cannot hold exactly; convert the file "
            "first",
            path, *std::find_if_not(values, values + to.size(), fits_double<From>),
            to_string(dtype_of<T>));
      }
    }
  });
}

#define INSTANTIATE(T)              \
  template bool converts<T>(DType); \
  template void convert<T>(const std::string&, DType, const void*, std::span<T>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
