#include <weft/kernel/complex.hpp>
#include <weft/kernel/reduce.hpp>

#include <gtest/gtest.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace weft {
namespace {

void use_threads([[maybe_unused]] int threads) {
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#endif
}

constexpr std::array<index_t, 16> sizes = {0,  1,    2,    7,      8,      9,      15,        16,
                                           17, 1000, 4095, 32'767, 32'768, 32'769, 1'000'003, 127};

/// An integer that depends on the position, of either sign.
std::int64_t whole(index_t i) { return (i * 7919) % 1000 - 300; }
/// A number whose sums depend on their order.
double rough(index_t i) { return std::sin(static_cast<double>(i)) * std::pow(10.0, i % 17); }

const auto plus = [](auto a, auto b) { return a + b; };

template <class A>
bool same_bits(const A& a, const A& b) {
  return std::memcmp(&a, &b, sizeof(A)) == 0;
}

}  // namespace

TEST(Reduce, adds_integers_exactly) {
  for (const int threads : {1, 2, 3}) {
    use_threads(threads);
    for (const index_t n : sizes) {
      std::int64_t expected = 0;
      for (index_t i = 0; i < n; ++i) expected += whole(i);
      EXPECT_EQ(reduce(Cpu{}, n, std::int64_t{0}, whole, plus), expected) << n;
      const double sum = reduce(
          Cpu{}, n, 0.0, [](index_t i) { return static_cast<double>(whole(i)); }, plus);
      EXPECT_EQ(sum, static_cast<double>(expected)) << n;
    }
  }
  use_threads(1);
}

TEST(Reduce, takes_arrays) {
  for (const index_t n : sizes) {
    std::vector<double> x(static_cast<std::size_t>(n));
    std::vector<double> y(x.size());
    double expected = 0;
    for (index_t i = 0; i < n; ++i) {
      x[static_cast<std::size_t>(i)] = static_cast<double>(whole(i));
      y[static_cast<std::size_t>(i)] = static_cast<double>(i % 3);
      expected += static_cast<double>(whole(i) * (i % 3));
    }
    double sum = -1;
    reduce_into(
        Cpu{}, n, 0.0, [](double a, double b) { return a * b; }, plus, &sum, x.data(), y.data());
    EXPECT_EQ(sum, expected) << n;
  }
}

TEST(Reduce, changes_several_arrays) {
  for (const index_t n : sizes) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<double>(whole(i));
    std::vector<double> y(x.size(), 1);
    std::vector<double> z(x.size(), 2);
    double sum = -1;
    update_and_reduce_into(
        Cpu{}, n, 0.0, Targets{y.data(), z.data()},
        [](double& y_i, double& z_i, double x_i) {
          y_i += x_i;
          z_i *= x_i;
          return y_i - z_i;
        },
        plus, &sum, x.data());
    double expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i], 1 + x[i]);
      EXPECT_EQ(z[i], 2 * x[i]);
      expected += 1 - x[i];
    }
    EXPECT_EQ(sum, expected) << n;
  }
}

TEST(Reduce, finds_minimum_and_maximum) {
  for (const int threads : {1, 2, 3}) {
    use_threads(threads);
    for (const index_t n : sizes) {
      // The extremes are at both ends and at positions in between.
      for (const index_t place : {index_t{0}, n / 3, n - 1}) {
        if (place < 0 || place >= n) continue;
        const auto dip = [=](index_t i) { return i == place ? -1e6 : std::cos(rough(i)); };
        EXPECT_EQ(reduce(Cpu{}, n, HUGE_VAL, dip, [](double a, double b) { return b < a ? b : a; }),
                  -1e6);
        EXPECT_EQ(reduce(
                      Cpu{}, n, -HUGE_VAL, [=](index_t i) { return -dip(i); },
                      [](double a, double b) { return a < b ? b : a; }),
                  1e6);
      }
    }
  }
  use_threads(1);
}

TEST(Reduce, of_nothing_is_the_identity) {
  EXPECT_EQ(reduce(Cpu{}, 0, 0.0, rough, plus), 0.0);
  EXPECT_EQ(reduce(Cpu{}, 0, HUGE_VAL, rough, [](double a, double b) { return b < a ? b : a; }),
            HUGE_VAL);
}

TEST(Reduce, calls_the_function_once_per_index) {
  for (const index_t n : sizes) {
    std::vector<int> visits(static_cast<std::size_t>(n));
    int* at = visits.data();
    const auto visit = [=](index_t i) { return std::int64_t{++at[i]}; };
    EXPECT_EQ(reduce(Cpu{}, n, std::int64_t{0}, visit, plus), n);
    for (const int count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(Reduce, gives_the_same_bits_with_any_number_of_threads) {
  for (const index_t n : sizes) {
    use_threads(1);
    const double expected = reduce(Cpu{}, n, 0.0, rough, plus);
    const auto in_float = [](index_t i) { return static_cast<float>(rough(i)); };
    const float expected_float = reduce(Cpu{}, n, 0.0F, in_float, plus);
    const auto complex = [](index_t i) { return Complex<double>(rough(i), rough(i + 1)); };
    const Complex<double> expected_complex = reduce(Cpu{}, n, Complex<double>(), complex, plus);
    for (const int threads : {1, 2, 3, 1}) {
      use_threads(threads);
      for (int repetition = 0; repetition < 3; ++repetition) {
        EXPECT_TRUE(same_bits(reduce(Cpu{}, n, 0.0, rough, plus), expected)) << n;
        EXPECT_TRUE(same_bits(reduce(Cpu{}, n, 0.0F, in_float, plus), expected_float)) << n;
        EXPECT_TRUE(same_bits(reduce(Cpu{}, n, Complex<double>(), complex, plus), expected_complex))
            << n;
      }
    }
  }
  use_threads(1);
}

TEST(Reduce, is_accurate) {
  // A plain float loop over n equal terms accumulates about n rounding errors; 0.1 shows them.
  const index_t n = 10'000'000;
  const float sum = reduce(
      Cpu{}, n, 0.0F, [](index_t) { return 0.1F; }, plus);
  EXPECT_NEAR(static_cast<double>(sum), 1e6, 1e6 * 2e-4);
}

TEST(Reduce, over_the_middle_axis_equals_the_plain_loop) {
  for (const int threads : {1, 2, 3}) {
    use_threads(threads);
    for (const index_t outer : {0, 1, 3, 50}) {
      for (const index_t n : {0, 1, 5, 100}) {
        for (const index_t inner : {0, 1, 2, 63, 64, 65, 200}) {
          const auto f = [=](index_t o, index_t i, index_t k) {
            return rough((o * n + i) * inner + k);
          };
          const auto count = static_cast<std::size_t>(outer * inner);
          std::vector<double> expected(count);
          for (index_t o = 0; o < outer; ++o) {
            for (index_t k = 0; k < inner; ++k) {
              double total = 0;
              for (index_t i = 0; i < n; ++i) total += f(o, i, k);
              expected[static_cast<std::size_t>(o * inner + k)] = total;
            }
          }
          std::vector<double> out(count, -1);
          std::vector<int> visits(count);
          double* to = out.data();
          int* at = visits.data();
          reduce(Cpu{}, outer, n, inner, 0.0, f, plus, [=](index_t o, index_t k, double value) {
            to[o * inner + k] = value;
            ++at[o * inner + k];
          });
          // Strided lines are added in the order of i: not even the last bit differs. Contiguous
          // lines are added in lanes, the same for any number of threads.
          if (inner == 1) {
            for (std::size_t line = 0; line < count; ++line) {
              const auto o = static_cast<index_t>(line);
              EXPECT_TRUE(same_bits(
                  out[line], reduce(
                                 Cpu{}, n, 0.0, [=](index_t i) { return f(o, i, 0); }, plus)));
              double size = 0;
              for (index_t i = 0; i < n; ++i) size += std::abs(f(o, i, 0));
              EXPECT_NEAR(out[line], expected[line], 1e-15 * static_cast<double>(n) * size);
            }
          } else {
            EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin(), same_bits<double>))
                << outer << " x " << n << " x " << inner;
          }
          EXPECT_EQ(visits, std::vector<int>(count, 1));
        }
      }
    }
  }
  use_threads(1);
}

TEST(Reduce, over_the_middle_axis_gives_the_same_bits_with_any_number_of_threads) {
  struct Case {
    index_t outer, n, inner;
  };
  for (const auto& [outer, n, inner] :
       {Case{1, 100'003, 1}, Case{3, 40'000, 1}, Case{1, 100'003, 2}, Case{2, 5000, 70},
        Case{1, 600, 1000}, Case{1, 600, 1100}, Case{33, 33'000, 1}, Case{20, 33'000, 1}}) {
    const auto f = [=](index_t o, index_t i, index_t k) { return rough((o * n + i) * inner + k); };
    const auto lines = [&](int threads) {
      use_threads(threads);
      std::vector<double> out(static_cast<std::size_t>(outer * inner), -1);
      double* to = out.data();
      reduce(Cpu{}, outer, n, inner, 0.0, f, plus,
             [=](index_t o, index_t k, double value) { to[o * inner + k] = value; });
      return out;
    };
    const std::vector<double> expected = lines(1);
    for (const int threads : {2, 3, 4}) {
      const std::vector<double> out = lines(threads);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin(), same_bits<double>))
          << outer << " x " << n << " x " << inner << " on " << threads << " threads";
    }
    // Nor with the number of lines, which changes how an array is divided.
    std::vector<double> first(static_cast<std::size_t>(inner));
    double* to = first.data();
    reduce(Cpu{}, 1, n, inner, 0.0, f, plus,
           [=](index_t, index_t k, double value) { to[k] = value; });
    EXPECT_TRUE(std::equal(first.begin(), first.end(), expected.begin(), same_bits<double>));
  }
  use_threads(1);
}

TEST(Reduce, over_the_middle_axis_of_long_lines_adds_integers_exactly) {
  use_threads(2);
  for (const index_t inner : {1, 2, 63, 65, 200}) {
    const index_t n = 40'001;
    std::vector<std::int64_t> out(static_cast<std::size_t>(inner));
    std::int64_t* to = out.data();
    reduce(
        Cpu{}, 1, n, inner, std::int64_t{0},
        [=](index_t, index_t i, index_t k) { return whole(i * inner + k); }, plus,
        [=](index_t, index_t k, std::int64_t value) { to[k] = value; });
    for (index_t k = 0; k < inner; ++k) {
      std::int64_t expected = 0;
      for (index_t i = 0; i < n; ++i) expected += whole(i * inner + k);
      EXPECT_EQ(to[k], expected) << k << " of " << inner;
    }
  }
  use_threads(1);
}

#if defined(_OPENMP)
TEST(ReduceThreads, divide_any_shape_evenly) {
  struct Case {
    index_t outer, n, inner;
  };
  for (const int threads : {2, 4}) {
    use_threads(threads);
    for (const auto& [outer, n, inner] :
         {Case{1, 600'000, 1}, Case{3, 200'000, 1}, Case{1, 300'000, 2}, Case{1, 10'000, 64},
          Case{2, 6000, 65}, Case{500, 1000, 1}, Case{1, 500, 2048}}) {
      std::vector<int> by(static_cast<std::size_t>(outer * n * inner), -1);
      int* at = by.data();
      reduce(
          Cpu{}, outer, n, inner, 0,
          [=](index_t o, index_t i, index_t k) {
            return at[(o * n + i) * inner + k] = omp_get_thread_num();
          },
          plus, [](index_t, index_t, int) {});
      const auto fair = static_cast<double>(by.size()) / threads;
      for (int thread = 0; thread < threads; ++thread) {
        EXPECT_NEAR(static_cast<double>(std::count(by.begin(), by.end(), thread)), fair, 0.1 * fair)
            << outer << " x " << n << " x " << inner << ", thread " << thread << " of " << threads;
      }
    }
  }
  use_threads(1);
}
#endif

TEST(Reduce, over_the_middle_axis_supports_other_combinations) {
  std::vector<std::int64_t> out(6);
  std::int64_t* to = out.data();
  reduce(
      Cpu{}, 2, 4, 3, std::numeric_limits<std::int64_t>::min(),
      [](index_t o, index_t i, index_t k) { return std::int64_t{100 * o + (i == 2 ? 50 : i) - k}; },
      [](std::int64_t a, std::int64_t b) { return a < b ? b : a; },
      [=](index_t o, index_t k, std::int64_t value) { to[o * 3 + k] = value; });
  EXPECT_EQ(out, (std::vector<std::int64_t>{50, 49, 48, 150, 149, 148}));
}

}  // namespace weft
