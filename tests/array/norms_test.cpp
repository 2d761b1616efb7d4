// Norms of numbers whose powers overflow or underflow.

#include "array/layouts.hpp"

#include <weft/array/reductions.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const std::vector<double> orders = {3, 2, 1.5, 0.5, 7, -1, -2.5, -3, 1e5, -1e5};

/// The norm of numbers around 1; `order` may be any but 0 and infinity.
double norm_of(const std::vector<double>& x, double order) {
  long double total = 0;
  long double dominant = x.front();
  for (const double element : x) {
    dominant = order > 0 ? std::max<long double>(dominant, element)
                         : std::min<long double>(dominant, element);
  }
  for (const double element : x) {
    total += std::pow(element / dominant, static_cast<long double>(order));
  }
  return static_cast<double>(dominant * std::pow(total, 1 / static_cast<long double>(order)));
}

double element(index_t position) { return 1 + 0.125 * static_cast<double>(position % 8); }

std::vector<double> elements(index_t count) {
  std::vector<double> all;
  for (index_t position = 0; position < count; ++position) all.push_back(element(position));
  return all;
}

void expect_near(double seen, double expected, double relative) {
  if (!std::isfinite(expected) || expected == 0) {
    EXPECT_EQ(seen, expected);
  } else {
    EXPECT_NEAR(seen / expected, 1, relative);
  }
}

}  // namespace

TEST(Norms, do_not_overflow_or_underflow) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {3, 4})), [](const Layout& layout) {
      for (const double size : {1e120, 1e200, 1e300, 1e-120, 1e-200, 1e-300, 4e-320}) {
        DistributedArray<double> x(layout);
        x.fill([&](const Index& at) { return -size * element(position_of({3, 4}, at)); });
        DistributedArray<std::complex<double>> z(layout);
        z.fill([&](const Index& at) {
          const double magnitude = size * element(position_of({3, 4}, at));
          return std::complex<double>(0.6 * magnitude, -0.8 * magnitude);
        });
        const double relative = size < 1e-300 ? 1e-2 : 1e-13;
        for (const double order : orders) {
          SCOPED_TRACE("order " + std::to_string(order));
          const double expected = norm_of(elements(12), order);
          expect_near(norm(x, order) / size, expected, relative);
          expect_near(norm(z, order) / size, expected, relative);
        }
      }
    });
  });
}

TEST(Norms, of_seven_times_the_same) {
  on_ranks([](Comm comm) {
    DistributedArray<double> x(Layout::scatter(comm, {7}));
    x.fill(1e120);
    EXPECT_NEAR(norm(x, 3) / 1e120, std::cbrt(7.0), 1e-14);
    x.fill(1e-120);
    EXPECT_NEAR(norm(x, 3) / 1e-120, std::cbrt(7.0), 1e-14);
  });
}

TEST(Norms, of_float_do_not_overflow_or_underflow) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {3, 4})), [](const Layout& layout) {
      for (const float size : {1e30F, 1e-30F}) {
        DistributedArray<float> x(layout);
        x.fill(size);
        for (const double order : {3.0, 6.0, 6.5, 20.0, -3.0, -20.0}) {
          const double expected = size * std::pow(12.0, 1 / order);
          expect_near(norm(x, order), expected, 1e-13);
          for (const float along : norm_along(x, 0, order).to_host()) {
            expect_near(along, size * std::pow(3.0, 1 / order), 1e-6);
          }
        }
      }
    });
  });
}

TEST(Norms, of_zero_infinity_and_nan) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {3, 4})), [](const Layout& layout) {
      const auto filled = [&](double all, double one) {
        DistributedArray<double> x(layout);
        x.fill([&](const Index& at) { return at == Index{1, 2} ? one : all; });
        return x;
      };
      for (const double order : {3.0, 2.0, 0.5, 7.0}) {
        SCOPED_TRACE("order " + std::to_string(order));
        EXPECT_EQ(norm(filled(0, 0), order), 0);
        EXPECT_EQ(norm(filled(1, -inf), order), inf);
        EXPECT_EQ(norm(filled(1e200, inf), order), inf);
        EXPECT_TRUE(std::isnan(norm(filled(0, nan), order)));
        EXPECT_TRUE(std::isnan(norm(filled(1e200, nan), order)));
        expect_near(norm(filled(0, 1e200), order), 1e200, 1e-14);
        expect_near(norm(filled(0, 1e-200), order), 1e-200, 1e-14);
      }
      for (const double order : {-1.0, -3.0}) {
        SCOPED_TRACE("order " + std::to_string(order));
        EXPECT_EQ(norm(filled(0, 0), order), 0);
        EXPECT_EQ(norm(filled(1e200, 0), order), 0);
        EXPECT_EQ(norm(filled(inf, inf), order), inf);
        expect_near(norm(filled(inf, 1e200), order), 1e200, 1e-14);
        expect_near(norm(filled(inf, 1e-200), order), 1e-200, 1e-14);
        EXPECT_TRUE(std::isnan(norm(filled(1e-200, nan), order)));
      }
      EXPECT_EQ(norm(filled(1e200, 0), 0), 11);
      EXPECT_EQ(norm(filled(1e-320, 0), 0), 11);
      EXPECT_EQ(norm(filled(1e308, 3), -inf), 3);
      EXPECT_EQ(norm(filled(1e-320, 3), inf), 3);
    });
    for (const double order : {3.0, 2.0}) {
      EXPECT_EQ(norm(DistributedArray<double>(Layout::scatter(comm, {0})), order), 0);
    }
    EXPECT_EQ(norm(DistributedArray<double>(Layout::scatter(comm, {0})), -1), inf);
  });
}

// The lines of one array differ by hundreds of orders of magnitude. Scaling some lines must not
// change a bit of the norms of the others.
TEST(Norms, along_an_axis_do_not_overflow_or_underflow) {
  on_ranks([](Comm comm) {
    const std::vector<double> sizes = {1, 1e200, 0, 1e-200, 1e120, -1e300};
    const Shape shape = {6, 5, 2};
    for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
      DistributedArray<double> x(layout);
      x.fill([&](const Index& at) {
        return sizes[static_cast<std::size_t>(at[0])] * element(position_of(shape, at));
      });
      for (const double order : orders) {
        SCOPED_TRACE("order " + std::to_string(order));
        const DistributedArray<double> norms = norm_along(x, 1, order);
        std::size_t place = 0;
        const std::vector<double> seen = norms.to_host();
        for_each_point(norms.layout().box(), [&](const Index& at) {
          std::vector<double> line;
          for (index_t i = 0; i < 5; ++i) {
            line.push_back(element(position_of(shape, {at[0], i, at[1]})));
          }
          const double size = std::abs(sizes[static_cast<std::size_t>(at[0])]);
          expect_near(seen[place++], size * norm_of(line, order), 1e-13);
        });
        for (const double norm : norm_along(x, 0, order).to_host()) {
          if (order < 0) {
            EXPECT_EQ(norm, 0);  // there is a zero in each line
          } else {
            EXPECT_GE(norm, 1e300 * (1 - 1e-13));
            EXPECT_LE(norm, 1e300 * 2.5);
          }
        }
      }
    });
  });
}

TEST(Norms, along_an_axis_keep_infinity_and_nan) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {4, 3})), [](const Layout& layout) {
      const std::vector<double> rows = {inf, nan, 1e200, 0};
      DistributedArray<double> x(layout);
      x.fill([&](const Index& at) {
        return at[1] == 1 ? rows[static_cast<std::size_t>(at[0])] : 1e-200;
      });
      for (const double order : {2.0, 3.0}) {
        const std::vector<double> norms = norm_along(x, 1, order).all_gather();
        EXPECT_EQ(norms[0], inf);
        EXPECT_TRUE(std::isnan(norms[1]));
        expect_near(norms[2], 1e200, 1e-14);
        expect_near(norms[3], 1e-200 * std::pow(2.0, 1 / order), 1e-14);
      }
      const std::vector<double> norms = norm_along(x, 1, -3).all_gather();
      expect_near(norms[0], 1e-200 * std::pow(2.0, -1.0 / 3), 1e-14);
      EXPECT_TRUE(std::isnan(norms[1]));
      expect_near(norms[2], 1e-200 * std::pow(2.0, -1.0 / 3), 1e-14);
      EXPECT_EQ(norms[3], 0);
    });
  });
}

}  // namespace weft::test
