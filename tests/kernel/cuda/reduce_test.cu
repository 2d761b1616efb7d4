// Loops over arrays on a GPU, which load several elements at once.

#include <weft/core/buffer.hpp>
#include <weft/core/stream.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/kernel/reduce.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft {
namespace {

constexpr Device gpu = Device::cuda();
constexpr index_t sizes[] = {0, 1, 3, 4, 5, 255, 1024, 4096, 4097, 100'003, 3'000'001};

bool has_gpu() { return device_count(DeviceKind::cuda) > 0; }

struct Add {
  WEFT_FUNCTION double operator()(double a, double b) const { return a + b; }
};

Cuda stream() { return {Stream::current(gpu).handle()}; }

/// Numbers whose sums depend on their order, from place `first` of a buffer on.
template <class T>
Buffer<T> rough_numbers(index_t first, index_t n) {
  std::vector<T> values(static_cast<std::size_t>(first + n));
  for (index_t i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(first + i)] =
        static_cast<T>(std::sin(double(i)) * std::pow(10.0, double(i % 5)));
  }
  Buffer<T> buffer(first + n, gpu);
  copy_bytes(buffer.data(), gpu, values.data(), Device::cpu(), values.size() * sizeof(T));
  return buffer;
}

template <class T>
std::vector<T> on_host(const T* data, index_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  copy_bytes(values.data(), Device::cpu(), data, gpu, values.size() * sizeof(T));
  return values;
}

template <class T>
double sum_of_squares(const T* x, index_t n) {
  Buffer<double> sum(1, gpu);
  reduce_into(
      stream(), n, 0.0, [=] WEFT_KERNEL(T a, T b) { return double(a) * double(b); }, Add{},
      sum.data(), x, x);
  return on_host(sum.data(), 1)[0];
}

/// y += 2 x, and the sum of the new y.
template <class T>
double update_and_sum(T* y, const T* x, index_t n) {
  Buffer<double> sum(1, gpu);
  update_and_reduce_into(
      stream(), n, 0.0, Targets{y},
      [=] WEFT_KERNEL(T & y_i, T x_i) {
        y_i += 2 * x_i;
        return double(y_i);
      },
      Add{}, sum.data(), x);
  return on_host(sum.data(), 1)[0];
}

/// y += x; z -= x
template <class T>
void move_apart(T* y, T* z, const T* x, index_t n) {
  update(
      stream(), n, y, z,
      [=] WEFT_KERNEL(T & y_i, T & z_i, T x_i) {
        y_i += x_i;
        z_i -= x_i;
      },
      x);
}

/// y += x; z -= y, and the sum of x y z.
template <class T>
double update_two_and_sum(T* y, T* z, const T* x, index_t n) {
  Buffer<double> sum(1, gpu);
  update_and_reduce_into(
      stream(), n, 0.0, Targets{y, z},
      [=] WEFT_KERNEL(T & y_i, T & z_i, T x_i) {
        y_i += x_i;
        z_i -= y_i;
        return double(x_i) * double(y_i) * double(z_i);
      },
      Add{}, sum.data(), x);
  return on_host(sum.data(), 1)[0];
}

template <class T>
void expect_sums_do_not_depend_on_alignment() {
  for (const index_t n : sizes) {
    const Buffer<T> aligned = rough_numbers<T>(0, n);
    const double squares = sum_of_squares(aligned.data(), n);
    double expected = 0;
    for (const T value : on_host(aligned.data(), n)) expected += double(value) * double(value);
    EXPECT_NEAR(squares, expected, 1e-12 * expected) << n;
    Buffer<T> y = rough_numbers<T>(0, n);
    const double sum = update_and_sum(y.data(), aligned.data(), n);
    for (const index_t first : {1, 2, 3}) {
      const Buffer<T> shifted = rough_numbers<T>(first, n);
      EXPECT_EQ(sum_of_squares(shifted.data() + first, n), squares) << n << " from " << first;
      Buffer<T> shifted_y = rough_numbers<T>(first, n);
      EXPECT_EQ(update_and_sum(shifted_y.data() + first, shifted.data() + first, n), sum)
          << n << " from " << first;
      EXPECT_EQ(on_host(shifted_y.data() + first, n), on_host(y.data(), n));
    }
  }
}

template <class T>
void expect_both_change() {
  for (const index_t n : sizes) {
    for (const index_t first : {0, 1}) {
      const Buffer<T> x = rough_numbers<T>(first, n);
      Buffer<T> y = rough_numbers<T>(first, n);
      Buffer<T> z = rough_numbers<T>(first, n);
      move_apart(y.data() + first, z.data() + first, x.data() + first, n);
      std::vector<T> expected = on_host(x.data() + first, n);
      for (T& value : expected) value *= 2;
      EXPECT_EQ(on_host(y.data() + first, n), expected) << n;
      EXPECT_EQ(on_host(z.data() + first, n), std::vector<T>(expected.size())) << n;
    }
  }
}

template <class T>
void expect_both_change_and_the_sum() {
  for (const index_t n : sizes) {
    double first_sum = 0;
    for (const index_t first : {0, 1}) {
      const Buffer<T> x = rough_numbers<T>(first, n);
      Buffer<T> y = rough_numbers<T>(first, n);
      Buffer<T> z = rough_numbers<T>(first, n);
      const double sum =
          update_two_and_sum(y.data() + first, z.data() + first, x.data() + first, n);
      std::vector<T> twice = on_host(x.data() + first, n);
      std::vector<T> minus(twice.size());
      double expected = 0;
      double size = 0;
      for (std::size_t i = 0; i < twice.size(); ++i) {
        minus[i] = -twice[i];
        expected -= 2 * double(twice[i]) * double(twice[i]) * double(twice[i]);
        size += 2 * std::abs(double(twice[i]) * double(twice[i]) * double(twice[i]));
        twice[i] *= 2;
      }
      EXPECT_EQ(on_host(y.data() + first, n), twice) << n;
      EXPECT_EQ(on_host(z.data() + first, n), minus) << n;
      EXPECT_NEAR(sum, expected, 1e-13 * size) << n;
      if (first == 0) first_sum = sum;
      EXPECT_EQ(sum, first_sum) << n;
    }
  }
}

}  // namespace

TEST(ReduceOnGpu, sums_do_not_depend_on_alignment) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has no GPU";
  expect_sums_do_not_depend_on_alignment<float>();
  expect_sums_do_not_depend_on_alignment<double>();
}

TEST(ReduceOnGpu, updates_change_both_arrays) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has no GPU";
  expect_both_change<float>();
  expect_both_change<double>();
}

TEST(ReduceOnGpu, changes_two_arrays_and_sums) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has no GPU";
  expect_both_change_and_the_sum<float>();
  expect_both_change_and_the_sum<double>();
}

}  // namespace weft
