#include <weft/kernel/for_each.hpp>

#include <gtest/gtest.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <atomic>
#include <vector>

namespace weft {
namespace {

/// Sets the number of OpenMP threads, where there is OpenMP.
void use_threads([[maybe_unused]] int threads) {
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#endif
}

class ForEach : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { use_threads(GetParam()); }
  void TearDown() override { use_threads(1); }
};

/// Whether each index was visited exactly once.
bool once_each(const std::vector<int>& visits) {
  return std::all_of(visits.begin(), visits.end(), [](int n) { return n == 1; });
}

}  // namespace

TEST_P(ForEach, visits_every_index_once) {
  for (const index_t n : {0, 1, 2, 7, 63, 64, 65, 1000, 32'767, 32'768, 32'769, 1'000'003}) {
    std::vector<int> visits(static_cast<std::size_t>(n));
    int* at = visits.data();
    for_each(Cpu{}, n, [=](index_t i) { at[i] += 1; });
    EXPECT_TRUE(once_each(visits)) << n;
  }
}

TEST_P(ForEach, updates_two_arrays) {
  for (const index_t n : {0, 1, 7, 64, 1000, 32'769}) {
    std::vector<float> y(static_cast<std::size_t>(n), 1.0F);
    std::vector<float> z(y.size(), 2.0F);
    const std::vector<float> x(y.size(), 3.0F);
    update(
        Cpu{}, n, y.data(), z.data(),
        [](float& y_i, float& z_i, float x_i) {
          y_i += x_i;
          z_i -= x_i;
        },
        x.data());
    EXPECT_EQ(y, std::vector<float>(y.size(), 4.0F)) << n;
    EXPECT_EQ(z, std::vector<float>(y.size(), -1.0F)) << n;
  }
}

TEST_P(ForEach, visits_nothing_for_negative_counts) {
  int visited = 0;
  for_each(Cpu{}, -5, [&](index_t) { ++visited; });
  for_each(Cpu{}, 0, [&](index_t) { ++visited; });
  EXPECT_EQ(visited, 0);
}

TEST_P(ForEach, visits_every_point_once) {
  for (const index_t outer : {0, 1, 2, 5, 100}) {
    for (const index_t n : {0, 1, 3, 64, 1000}) {
      for (const index_t inner : {0, 1, 2, 7, 200}) {
        if (outer * n * inner > 3'000'000) continue;
        std::vector<int> visits(static_cast<std::size_t>(outer * n * inner));
        int* at = visits.data();
        for_each(Cpu{}, outer, n, inner,
                 [=](index_t o, index_t i, index_t k) { at[(o * n + i) * inner + k] += 1; });
        EXPECT_TRUE(once_each(visits)) << outer << " x " << n << " x " << inner;
      }
    }
  }
}

TEST_P(ForEach, visits_every_point_of_long_and_of_wide_shapes) {
  struct Case {
    index_t outer, n, inner;
  };
  for (const auto& [outer, n, inner] :
       {Case{1, 2'000'000, 1}, Case{1, 1, 2'000'000}, Case{2'000'000, 1, 1}, Case{3, 300'000, 1},
        Case{40'000, 2, 1}, Case{1, 1000, 1000}}) {
    std::vector<int> visits(static_cast<std::size_t>(outer * n * inner));
    int* at = visits.data();
    for_each(Cpu{}, outer, n, inner,
             [=](index_t o, index_t i, index_t k) { at[(o * n + i) * inner + k] += 1; });
    EXPECT_TRUE(once_each(visits)) << outer << " x " << n << " x " << inner;
  }
}

TEST_P(ForEach, passes_coordinates_within_the_shape) {
  const index_t outer = 30;
  const index_t n = 50;
  const index_t inner = 40;
  std::atomic<int> outside = 0;
  for_each(Cpu{}, outer, n, inner, [&](index_t o, index_t i, index_t k) {
    const bool inside = o >= 0 && o < outer && i >= 0 && i < n && k >= 0 && k < inner;
    if (!inside) ++outside;
  });
  EXPECT_EQ(outside, 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, ForEach, testing::Values(1, 2, 3));

#if defined(_OPENMP)
TEST(ForEachThreads, divide_any_shape_evenly) {
  struct Case {
    index_t outer, n, inner;
  };
  for (const int threads : {2, 3, 4}) {
    omp_set_num_threads(threads);
    for (const auto& [outer, n, inner] :
         {Case{1, 600'000, 1}, Case{1, 1, 600'000}, Case{3, 200'000, 1}, Case{5, 1, 100'000},
          Case{1, 5, 100'000}, Case{200'000, 1, 1}, Case{1, 300'000, 2}, Case{700, 700, 1}}) {
      std::vector<int> by(static_cast<std::size_t>(outer * n * inner), -1);
      int* at = by.data();
      for_each(Cpu{}, outer, n, inner, [=](index_t o, index_t i, index_t k) {
        at[(o * n + i) * inner + k] = omp_get_thread_num();
      });
      const auto fair = static_cast<double>(by.size()) / threads;
      for (int thread = 0; thread < threads; ++thread) {
        EXPECT_NEAR(static_cast<double>(std::count(by.begin(), by.end(), thread)), fair, 0.1 * fair)
            << outer << " x " << n << " x " << inner << ", thread " << thread << " of " << threads;
      }
    }
  }
  omp_set_num_threads(1);
}

TEST(ForEachThreads, share_only_long_loops) {
  omp_set_num_threads(2);
  std::vector<int> by(100'000, -1);
  int* at = by.data();
  for_each(Cpu{}, 100'000, [=](index_t i) { at[i] = omp_get_thread_num(); });
  EXPECT_EQ(by.front(), 0);
  EXPECT_EQ(by.back(), 1);
  by.assign(by.size(), -1);
  for_each(Cpu{}, 1000, [=](index_t i) { at[i] = omp_get_thread_num(); });
  EXPECT_EQ(by[999], 0);
  omp_set_num_threads(1);
}
#endif

}  // namespace weft
