#include "sparse_bench/tensor.hpp"

#include "core/hash.hpp"

#include <algorithm>

namespace weft::sparse_bench {
namespace {

/// Calls f with a zero of the type.
template <class F>
void with_zero(DType dtype, F f) {
  switch (dtype) {
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::f32: return f(float{});
    default: return f(double{});
  }
}

template <class T>
T rounded(double number) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(number));
  } else {
    return static_cast<T>(number);
  }
}

template <class T>
double widened(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

std::uint64_t bits_at(int rank, index_t step, index_t i) {
  return detail::mix_bits(static_cast<std::uint64_t>(i) * detail::golden_ratio_bits +
                          static_cast<std::uint64_t>(step * 1009 + rank + 1));
}

template <class T>
std::vector<T> read(ConstBufferRef memory) {
  std::vector<T> values(static_cast<std::size_t>(memory.count));
  copy_bytes(values.data(), Device::cpu(), memory.data, memory.where,
             static_cast<std::size_t>(memory.bytes()));
  return values;
}

}  // namespace

Tensor::Tensor(index_t n, DType dtype, Device device)
    : n_(n), dtype_(dtype), memory_(n * size_of(dtype), device) {}

void Tensor::write(const std::function<double(index_t)>& value) {
  with_zero(dtype_, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values(static_cast<std::size_t>(n_));
    for (index_t i = 0; i < n_; ++i) values[static_cast<std::size_t>(i)] = rounded<T>(value(i));
    copy_bytes(memory_.data(), memory_.device(), values.data(), Device::cpu(),
               values.size() * sizeof(T));
  });
}

double gradient_at(int rank, index_t step, index_t n, index_t i) {
  constexpr std::uint64_t piece = 1023;
  std::uint64_t bits = bits_at(rank, step, i);
  std::int64_t sum = -2046;  // of four uniform numbers: their mean
  for (int part = 0; part < 4; ++part, bits >>= 16) sum += static_cast<std::int64_t>(bits & piece);
  const index_t layer = i * 8 / n;
  return static_cast<double>(sum >> (layer % 4));
}

double small_integer_at(int rank, int ranks, index_t step, index_t i) {
  // bf16 has all integers up to 256.
  const auto most = static_cast<std::uint64_t>(std::max(1, 256 / ranks));
  const std::uint64_t bits = bits_at(rank, step, i) >> 8;
  return static_cast<double>(bits % (2 * most + 1)) - static_cast<double>(most);
}

std::vector<std::byte> bytes_of(ConstBufferRef memory) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(memory.bytes()));
  copy_bytes(bytes.data(), Device::cpu(), memory.data, memory.where, bytes.size());
  return bytes;
}

std::vector<double> numbers_in(ConstBufferRef memory) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(memory.count));
  with_zero(memory.dtype, [&](auto zero) {
    for (const auto value : read<decltype(zero)>(memory)) numbers.push_back(widened(value));
  });
  return numbers;
}

std::vector<index_t> indices_in(ConstBufferRef memory) {
  if (memory.dtype == DType::u32) {
    const auto values = read<std::uint32_t>(memory);
    return {values.begin(), values.end()};
  }
  return read<index_t>(memory);
}

}  // namespace weft::sparse_bench
