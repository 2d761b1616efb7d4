#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "sparse_allreduce/support/oracles.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace weft::test {
namespace {

using Values = std::function<double(index_t)>;

std::vector<double> values_of(index_t n, const Values& at) {
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) values.push_back(at(i));
  return values;
}

double random(index_t i) {
  const std::uint64_t bits = detail::mix_bits(static_cast<std::uint64_t>(i) + 1);
  return std::ldexp(static_cast<double>(bits % 2000001) - 1e6, static_cast<int>(bits >> 40) % 9);
}

/// On one rank, the result of topkA is what was selected.
template <class T>
void expect_exact(index_t n, double density, const Values& at) {
  SCOPED_TRACE(fmt::format("n={} density={}", n, density));
  SparseAllreduce reduce(Comm::self(), n, summing("topkA", density, dtype_of<T>));
  const std::vector<double> gradient = numbers(elements<T>(values_of(n, at)));
  const auto k = std::max<index_t>(1, static_cast<index_t>(static_cast<double>(n) * density));
  const Sparse wanted = largest(indexed(gradient), k);
  std::vector<double> rest = gradient;
  for (const auto& [i, x] : wanted) rest[static_cast<std::size_t>(i)] = 0;
  Tensor<T> tensor(elements<T>(gradient));
  reduce.run(tensor.ref(), tensor.ref());
  EXPECT_EQ(numbers(tensor.read()), filled(wanted, n));
  EXPECT_EQ(residual_of(reduce, n, dtype_of<T>), rest);
  EXPECT_EQ(reduce.report().selected, k);
}

const std::vector<Values> kinds = {
    random, [](index_t) { return 0.0; }, [](index_t) { return -2.0; },
    [](index_t i) { return static_cast<double>(i % 3); },
    [](index_t i) { return i % 1000 == 999 ? random(i) : 0.0; },
    // All large elements in one place, which a chunk cannot stage.
    [](index_t i) { return i > 70000 && i < 75000 ? random(i) * 1e3 : random(i); },
    [](index_t i) { return static_cast<double>(i % 61 == 0 ? 0 : i % 1009); },  // misleads samples
    [](index_t i) { return std::ldexp(1.0, -static_cast<int>(i % 148)); },      // denormals
};

TEST(SparseSelection, takes_the_k_largest_with_ties_to_the_lower_index) {
  for (const Values& at : kinds) {
    for (const index_t n : {1, 2, 31, 33, 1000, 100000}) {
      for (const double density : {0.001, 0.01, 0.3, 1.0}) expect_exact<float>(n, density, at);
    }
    expect_exact<double>(100000, 0.01, at);
    expect_exact<double>(1000, 0.1, at);
  }
}

std::vector<double> selected_by(const std::string& selector, index_t n, double density,
                                const Values& at, index_t chunk = 4096) {
  SparseOptions options = summing("topkA", density);
  options.selector = selector;
  options.chunk = chunk;
  SparseAllreduce reduce(Comm::self(), n, options);
  return run_checked<float>(Comm::self(), reduce, values_of(n, at));
}

double count_of(const std::vector<double>& values) {
  return static_cast<double>(values.size()) -
         static_cast<double>(std::count(values.begin(), values.end(), 0.0));
}

/// Nearly normal: a sum of uniform numbers.
double bell(index_t i) {
  double sum = 0;
  for (index_t j = 0; j < 12; ++j) {
    const std::uint64_t bits = detail::mix_bits(static_cast<std::uint64_t>(12 * i + j) + 77);
    sum += static_cast<double>(bits >> 40) * 0x1p-24 - 0.5;
  }
  return static_cast<double>(static_cast<float>(sum));
}

TEST(SparseSelection, estimated_thresholds_take_about_k) {
  const index_t n = 200000;
  for (const char* selector : {"gaussian", "sampled"}) {
    for (const double density : {0.01, 0.05}) {
      const double count = count_of(selected_by(selector, n, density, bell));
      const double k = static_cast<double>(n) * density;
      EXPECT_GT(count, 0.6 * k) << selector;
      EXPECT_LT(count, 1.5 * k) << selector;
    }
  }
}

TEST(SparseSelection, chunks_are_selected_from_one_by_one) {
  for (const index_t n : {1, 64, 100, 1000}) {
    const index_t chunk = 64;
    const std::vector<double> gradient = values_of(n, random);
    Sparse wanted;
    for (index_t begin = 0; begin < n; begin += chunk) {
      Sparse part;
      for (index_t i = begin; i < std::min(n, begin + chunk); ++i) {
        part[i] = gradient[static_cast<std::size_t>(i)];
      }
      wanted.merge(largest(
          part, std::max<index_t>(1, std::llround(0.1 * static_cast<double>(std::min(n, chunk))))));
    }
    EXPECT_EQ(selected_by("chunked", n, 0.1, random, chunk), filled(wanted, n));
  }
}

#if defined(_OPENMP)
TEST(SparseSelection, threads_do_not_change_what_is_selected) {
  const index_t n = 300000;
  const int before = omp_get_max_threads();
  for (const std::string& selector : sparse_selectors()) {
    omp_set_num_threads(1);
    const std::vector<double> one = selected_by(selector, n, 0.01, random);
    omp_set_num_threads(3);
    EXPECT_EQ(selected_by(selector, n, 0.01, random), one) << selector;
  }
  omp_set_num_threads(before);
}
#endif

/// Results and residuals of a few calls, where thresholds are reused.
std::vector<double> history(const std::string& selector, Device device, index_t n) {
  SparseOptions options = summing("topkA", 0.01);
  options.selector = selector;
  options.device = device;
  options.oktopk.local_period = 3;
  SparseAllreduce reduce(Comm::self(), n, options);
  Buffer<float> memory(n, device);
  std::vector<double> all;
  for (index_t step = 0; step < 5; ++step) {
    std::vector<float> values = elements<float>(integers(0, step, n));
    // In some calls more is selected than is staged.
    for (index_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] *= step == 1 ? 9.0F : 1.0F;
    const std::size_t bytes = values.size() * sizeof(float);
    copy_bytes(memory.data(), device, values.data(), Device::cpu(), bytes);
    reduce.run(memory, memory);
    copy_bytes(values.data(), Device::cpu(), memory.data(), device, bytes);
    for (const float x : values) all.push_back(static_cast<double>(x));
    for (const double x : residual_of(reduce, n, DType::f32)) all.push_back(x);
  }
  return all;
}

TEST(SparseSelection, all_devices_select_the_same) {
  for (const index_t n : {1000, 4097, 70001}) {
    for (const std::string& selector : sparse_selectors()) {
      EXPECT_TRUE(history(selector, other_device(), n) == history(selector, Device::cpu(), n))
          << selector << " of " << n;
    }
  }
}

/// Indices that a float cannot hold.
TEST(SparseSelection, indices_above_2_to_the_24_are_exact) {
  const index_t n = (index_t{1} << 24) + 9;
  std::vector<float> gradient(static_cast<std::size_t>(n));
  for (const index_t i : {n - 1, n - 2, n - 4, index_t{3}}) {
    gradient[static_cast<std::size_t>(i)] = static_cast<float>(1000 + i % 7);
  }
  for (const char* algorithm : {"topkA", "gaussiankconcat", "gaussiankSA", "oktopk"}) {
    SparseOptions options = summing(algorithm, 4.5 / static_cast<double>(n));
    options.device = Device::cpu();
    SparseAllreduce reduce(Comm::self(), n, options);
    std::vector<float> result(gradient.size());
    reduce.run(gradient, result);
    EXPECT_TRUE(result == gradient) << algorithm;
  }
}

}  // namespace
}  // namespace weft::test
