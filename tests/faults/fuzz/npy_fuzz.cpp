// A .npy file: whatever is in it, it is refused with an Error, or its numbers are those that are in
// it by NumPy's description of the format.

#include <weft/core/error.hpp>
#include <weft/io/npy.hpp>

#include "faults/fuzz/fuzz_target.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

namespace {

using namespace weft;
using faults::expect;

constexpr index_t most_elements = 4096;

template <class V>
double number_at(const char* bytes, bool swapped) {
  std::string own(bytes, sizeof(V));
  if (swapped) std::reverse(own.begin(), own.end());
  V value{};
  std::memcpy(&value, own.data(), sizeof(V));
  return static_cast<double>(value);
}

double half_at(const char* bytes, bool swapped) {
  const auto bits = static_cast<std::uint16_t>(number_at<std::uint16_t>(bytes, swapped));
  const int exponent = (bits >> 10) & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -14);
  if (exponent < 31) return sign * std::ldexp(1 + fraction, exponent - 15);
  return fraction == 0 ? sign * HUGE_VAL : std::nan("");
}

std::complex<double> element_at(const char* bytes, DType dtype, bool swapped) {
  switch (dtype) {
    case DType::f16: return half_at(bytes, swapped);
    case DType::f32: return number_at<float>(bytes, swapped);
    case DType::f64: return number_at<double>(bytes, swapped);
    case DType::c64:
      return {number_at<float>(bytes, swapped), number_at<float>(bytes + 4, swapped)};
    case DType::c128:
      return {number_at<double>(bytes, swapped), number_at<double>(bytes + 8, swapped)};
    case DType::i8: return number_at<std::int8_t>(bytes, swapped);
    case DType::i16: return number_at<std::int16_t>(bytes, swapped);
    case DType::i32: return number_at<std::int32_t>(bytes, swapped);
    case DType::i64: return number_at<std::int64_t>(bytes, swapped);
    case DType::u8: return number_at<std::uint8_t>(bytes, swapped);
    case DType::u16: return number_at<std::uint16_t>(bytes, swapped);
    case DType::u32: return number_at<std::uint32_t>(bytes, swapped);
    case DType::u64: return number_at<std::uint64_t>(bytes, swapped);
    default: faults::fail("a type that NumPy does not have");
  }
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Where element i of an array in C order is in the file.
index_t place_of(const NpyInfo& info, index_t i) {
  if (!info.fortran_order) return i;
  index_t place = 0;
  index_t stride = info.shape.count();
  for (int axis = info.shape.ndim() - 1; axis >= 0; --axis) {
    stride /= info.shape[axis];
    place += i % info.shape[axis] * stride;
    i /= info.shape[axis];
  }
  return place;
}

template <Scalar T>
void read_as(const std::string& path, const NpyInfo& info, const std::string& file) {
  std::vector<T> values;
  try {
    values = read_npy<T>(path, Layout::replicated(Comm::self(), info.shape)).to_host();
  } catch (const Error&) {
    expect(dtype_of<T> != DType::c128 || info.dtype == DType::i64 || info.dtype == DType::u64,
           "c128 holds all but large integers");
    return;
  }
  for (index_t i = 0; i < info.shape.count(); ++i) {
    const char* bytes = file.data() + info.data_offset + place_of(info, i) * size_of(info.dtype);
    const std::complex<double> expected = element_at(bytes, info.dtype, info.swapped);
    const std::complex<double> value(values[static_cast<std::size_t>(i)]);
    expect(is_same(value.real(), expected.real()) && is_same(value.imag(), expected.imag()),
           "another number than in the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = faults::as_text(data, size);
  const std::string path = faults::file_with(file);
  NpyInfo info;
  try {
    info = npy_info(path);
  } catch (const Error& error) {
    expect(std::string_view(error.what()).size() < 1000, "a message that is too long");
    return 0;
  }
  expect(file.starts_with("\x93NUMPY") && file[7] == 0, "not a file of NumPy");
  const index_t bytes = static_cast<index_t>(size) - info.data_offset;
  expect(info.shape.count() <= bytes / size_of(info.dtype), "more elements than in the file");
  const std::size_t brace = file.rfind('}', static_cast<std::size_t>(info.data_offset) - 1);
  expect(file.find_first_not_of(" \t\n", brace + 1) >= static_cast<std::size_t>(info.data_offset),
         "something follows the header's dictionary");
  if (info.shape.count() > most_elements) return 0;
  read_as<float>(path, info, file);
  read_as<double>(path, info, file);
  read_as<std::complex<float>>(path, info, file);
  read_as<std::complex<double>>(path, info, file);
  return 0;
}
