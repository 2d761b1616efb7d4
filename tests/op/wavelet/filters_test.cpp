#include "op/wavelet/filters.hpp"

#include <weft/core/error.hpp>
#include <weft/op/wavelet/dwt.hpp>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace weft::test {
namespace {

using detail::wavelet_filters;
using Values = std::vector<double>;

/// sum over k of a[k] b[k + shift]
double correlation(const Values& a, const Values& b, index_t shift) {
  double sum = 0;
  for (index_t k = 0; k < std::ssize(a); ++k) {
    if (k + shift < 0 || k + shift >= std::ssize(b)) continue;
    sum += a[static_cast<std::size_t>(k)] * b[static_cast<std::size_t>(k + shift)];
  }
  return sum;
}

/// The moment of a filter about its middle, relative to that of its absolute values.
double moment(const Values& filter, int order) {
  double sum = 0;
  double scale = 0;
  for (std::size_t k = 0; k < filter.size(); ++k) {
    const double x = static_cast<double>(2 * k + 1) / static_cast<double>(filter.size()) - 1;
    sum += std::pow(x, order) * filter[k];
    scale += std::abs(std::pow(x, order) * filter[k]);
  }
  return sum / scale;
}

Values reversed(const Values& values) { return {values.rbegin(), values.rend()}; }

void expect_values(const Values& seen, const Values& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t k = 0; k < seen.size(); ++k) EXPECT_NEAR(seen[k], expected[k], 1e-15) << k;
}

double asymmetry(const Values& filter) {
  double best = 1;
  for (index_t shift = -std::ssize(filter); shift < std::ssize(filter); ++shift) {
    best = std::min(best, 1 - correlation(filter, reversed(filter), shift));
  }
  return best;
}

}  // namespace

TEST(WaveletFilters, reconstruct_perfectly) {
  for (const std::string& name : wavelet_names()) {
    SCOPED_TRACE(name);
    const auto filters = wavelet_filters(name, "test");
    const index_t length = std::ssize(filters.dec_lo);
    EXPECT_EQ(length % 2, 0);
    for (index_t shift = -length; shift <= length; shift += 2) {
      const double unit = shift == 0 ? 1 : 0;
      EXPECT_NEAR(correlation(reversed(filters.dec_lo), filters.rec_lo, shift), unit, 1e-12);
      EXPECT_NEAR(correlation(reversed(filters.dec_hi), filters.rec_hi, shift), unit, 1e-12);
      EXPECT_NEAR(correlation(reversed(filters.dec_lo), filters.rec_hi, shift), 0, 1e-12);
      EXPECT_NEAR(correlation(reversed(filters.dec_hi), filters.rec_lo, shift), 0, 1e-12);
    }
    EXPECT_EQ(filters.orthogonal, !name.starts_with("bior"));
    if (!filters.orthogonal) continue;
    EXPECT_EQ(filters.dec_lo, reversed(filters.rec_lo));
  }
}

TEST(WaveletFilters, have_vanishing_moments) {
  for (const char* family : {"db", "sym"}) {
    for (int order = 2; order <= 20; ++order) {
      const auto filters = wavelet_filters(fmt::format("{}{}", family, order), "test");
      EXPECT_EQ(std::ssize(filters.dec_lo), 2 * order);
      EXPECT_NEAR(std::reduce(filters.dec_lo.begin(), filters.dec_lo.end()), std::sqrt(2.0), 1e-14);
      for (int m = 0; m < order; ++m) {
        EXPECT_NEAR(moment(filters.dec_hi, m), 0, 1e-10) << family << order << ", moment " << m;
      }
      EXPECT_GT(std::abs(moment(filters.dec_hi, order)), 1e-8) << family << order;
    }
  }
}

TEST(WaveletFilters, match_closed_forms) {
  const double root = std::sqrt(2.0);
  expect_values(wavelet_filters("haar", "test").dec_hi, {-1 / root, 1 / root});
  const double three = std::sqrt(3.0);
  expect_values(wavelet_filters("db2", "test").rec_lo,
                {(1 + three) / (4 * root), (3 + three) / (4 * root), (3 - three) / (4 * root),
                 (1 - three) / (4 * root)});
  const double eighth = root / 8;
  const auto spline = wavelet_filters("bior2.2", "test");
  expect_values(spline.dec_lo, {0, -eighth, 2 * eighth, 6 * eighth, 2 * eighth, -eighth});
  expect_values(spline.rec_lo, {0, 2 * eighth, 4 * eighth, 2 * eighth, 0, 0});
}

TEST(WaveletFilters, of_symlets_are_less_asymmetric) {
  for (int order = 4; order <= 20; ++order) {
    const auto symlet = wavelet_filters(fmt::format("sym{}", order), "test");
    const auto daubechies = wavelet_filters(fmt::format("db{}", order), "test");
    EXPECT_LT(asymmetry(symlet.dec_lo), 0.8 * asymmetry(daubechies.dec_lo)) << order;
  }
}

// The first tap tells all choices of zeros, and mirror images, from one another.

TEST(WaveletFilters, of_symlets_are_the_published_ones) {
  const auto first_tap = [](const char* name) { return wavelet_filters(name, "test").rec_lo[0]; };
  EXPECT_NEAR(first_tap("sym4"), 0.0322231006, 1e-10);
  EXPECT_NEAR(first_tap("sym7"), 0.0102681767, 1e-10);
  EXPECT_NEAR(first_tap("sym10"), -0.0004593294, 1e-10);
  EXPECT_NEAR(first_tap("sym20"), -0.0000006329, 1e-10);
}

TEST(WaveletFilters, of_biorthogonal_wavelets_are_symmetric) {
  for (const std::string& name : wavelet_names()) {
    if (!name.starts_with("bior")) continue;
    for (Values filter :
         {wavelet_filters(name, "test").dec_lo, wavelet_filters(name, "test").rec_lo}) {
      std::erase(filter, 0.0);
      expect_values(reversed(filter), filter);
    }
  }
}

TEST(WaveletFilters, have_duals) {
  const auto filters = wavelet_filters("bior4.4", "test");
  const auto dual = detail::dual_of(filters);
  EXPECT_EQ(dual.dec_lo, reversed(filters.rec_lo));
  EXPECT_EQ(dual.rec_hi, reversed(filters.dec_hi));
}

TEST(WaveletFilters, rejects_unknown_names) {
  for (const char* name : {"", "db", "db0", "db21", "db02", "sym1", "bior2.3", "Haar", "db2 "}) {
    try {
      wavelet_filters(name, "dwt");
      ADD_FAILURE() << name;
    } catch (const ArgumentError& error) {
      const std::string text = error.what();
      for (const char* word : {"dwt", name, "haar, db1", "db20", "sym20", "bior6.8"}) {
        EXPECT_NE(text.find(word), std::string::npos) << word << " is not in " << text;
      }
    }
  }
}

}  // namespace weft::test
