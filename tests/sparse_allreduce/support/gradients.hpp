#pragma once

// Gradients for tests: integers, so that sums do not depend on the order of additions and are
// compared bit by bit.

#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "core/hash.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace weft::test {

template <class T>
using WorkOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Elements in memory of message_device().
template <class T>
class Tensor {
 public:
  explicit Tensor(const std::vector<T>& values)
      : memory_(static_cast<index_t>(values.size()), message_device()) {
    copy_bytes(memory_.data(), memory_.device(), values.data(), Device::cpu(), bytes());
  }
  std::vector<T> read() const {
    std::vector<T> values(static_cast<std::size_t>(memory_.size()));
    copy_bytes(values.data(), Device::cpu(), memory_.data(), memory_.device(), bytes());
    return values;
  }
  BufferRef ref() { return memory_; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(memory_.size()) * sizeof(T); }
  Buffer<T> memory_;
};

template <class T>
T make(double number) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(number));
  } else {
    return static_cast<T>(number);
  }
}
template <class T>
double number(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

/// Mostly small integers with some large ones, different on each rank and in each step.
inline std::vector<double> integers(int rank, index_t step, index_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t bits =
        detail::mix_bits(static_cast<std::uint64_t>((step * 131 + rank) * 1000003 + i));
    const auto size = static_cast<double>(bits % 7);
    const double factor = (bits >> 8) % 23 == 0 ? 10 : 1;
    values[static_cast<std::size_t>(i)] = ((bits >> 20) & 1U) != 0 ? -size * factor : size * factor;
  }
  return values;
}

template <class T>
std::vector<T> elements(const std::vector<double>& numbers) {
  std::vector<T> values;
  for (const double x : numbers) values.push_back(make<T>(x));
  return values;
}
template <class T>
std::vector<double> numbers(const std::vector<T>& values) {
  std::vector<double> all;
  for (const T& x : values) all.push_back(number(x));
  return all;
}

inline std::vector<double> sum_over_ranks(const Comm& comm, std::vector<double> mine) {
  comm.allreduce(mine);
  return mine;
}

inline std::vector<double> residual_of(const SparseAllreduce& reduce, index_t n, DType dtype) {
  if (dtype == DType::f64) {
    std::vector<double> residual(static_cast<std::size_t>(n));
    reduce.read_residual(residual);
    return residual;
  }
  std::vector<float> residual(static_cast<std::size_t>(n));
  reduce.read_residual(residual);
  return numbers(residual);
}

inline std::vector<double> plus(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// Whether all ranks have the same bits.
template <class T>
void expect_same_on_all_ranks(const Comm& comm, const std::vector<T>& values) {
  std::vector<std::uint8_t> mine(values.size() * sizeof(T));
  std::memcpy(mine.data(), values.data(), mine.size());
  std::vector<std::uint8_t> first = mine;
  comm.broadcast(first, 0);
  EXPECT_EQ(mine, first) << "results differ between ranks";
}

/// Of one call: the same result on all ranks, and what went in = result + what stays.
template <class T>
std::vector<double> run_checked(const Comm& comm, SparseAllreduce& reduce,
                                const std::vector<double>& gradient) {
  const auto n = static_cast<index_t>(gradient.size());
  const std::vector<double> before = residual_of(reduce, n, dtype_of<T>);
  Tensor<T> in(elements<T>(gradient));
  Tensor<T> out{std::vector<T>(gradient.size())};
  reduce.run(in.ref(), out.ref());
  const std::vector<T> result = out.read();
  expect_same_on_all_ranks(comm, result);
  const std::vector<double> all_in = sum_over_ranks(comm, plus(before, numbers(in.read())));
  const std::vector<double> rest = sum_over_ranks(comm, residual_of(reduce, n, dtype_of<T>));
  EXPECT_EQ(all_in, plus(rest, numbers(result)))
      << reduce.report().algorithm << " loses or invents gradient in call " << reduce.report().call;
  return numbers(result);
}

}  // namespace weft::test
