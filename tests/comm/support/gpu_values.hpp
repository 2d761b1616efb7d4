#pragma once

// Values on a GPU whose sums show the order in which ranks were added.

#include <weft/core/buffer.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/stream.hpp>

#include "support/ranks.hpp"

#include <cstddef>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace weft::test {

template <class T>
Buffer<T> on_gpu(const std::vector<T>& values) {
  Buffer<T> buffer(static_cast<index_t>(values.size()), other_device());
  copy_bytes(buffer.data(), other_device(), values.data(), Device::cpu(),
             values.size() * sizeof(T));
  return buffer;
}

template <class T>
std::vector<T> on_host(const Buffer<T>& buffer) {
  std::vector<T> values(static_cast<std::size_t>(buffer.size()));
  copy_bytes(values.data(), Device::cpu(), buffer.data(), other_device(),
             values.size() * sizeof(T));
  Stream::current(other_device()).synchronize();
  return values;
}

/// Values of one rank whose sum depends on the order of the ranks.
template <class T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::minstd_rand random(static_cast<unsigned>(rank) * 7919U + 1);
  const auto next = [&] { return 1e-4F * static_cast<float>(random() % 20001) - 1; };
  const float scale = rank % 2 == 0 ? 1e4F : 1e-3F;
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (requires { typename T::value_type; }) {
      using Real = typename T::value_type;
      value = {static_cast<Real>(scale * next()), static_cast<Real>(next())};
    } else {
      value = static_cast<T>(scale * next());
    }
  }
  return values;
}

/// 16-bit floats are added as floats, and rounded once.
template <class T>
std::vector<T> sum_in_order(int ranks, std::size_t count) {
  constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
  using Wide = std::conditional_t<is_short, float, T>;
  std::vector<Wide> sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<T> next = values_of<T>(rank, count);
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = rank == 0 ? static_cast<Wide>(next[i]) : sum[i] + static_cast<Wide>(next[i]);
    }
  }
  std::vector<T> rounded(count);
  for (std::size_t i = 0; i < count; ++i) rounded[i] = static_cast<T>(sum[i]);
  return rounded;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace weft::test
