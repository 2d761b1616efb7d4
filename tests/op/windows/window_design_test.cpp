#include <weft/op/windows/window_design.hpp>

#include <weft/core/error.hpp>

#include <gtest/gtest.h>

namespace weft::test {
namespace {

/// Whether windows that begin every window - overlap elements end exactly at n.
bool fill(index_t n, index_t window, index_t overlap) {
  index_t end = window;
  while (end < n) end += window - overlap;
  return end == n;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST(WindowDesign, lists_windows_that_fit) {
  const WindowDesign design = window_design(14, 5, 2);
  EXPECT_EQ(design.count, 4);
  EXPECT_EQ(design.step, 3);
  EXPECT_EQ(design.starts, (std::vector<index_t>{0, 3, 6, 9}));
  EXPECT_EQ(design.covered, 14);
  EXPECT_TRUE(design.fits);
  EXPECT_EQ(design.shorter_extent, 14);
  EXPECT_EQ(design.longer_extent, 14);
  EXPECT_EQ(design.nearest_overlap, 2);
  EXPECT_EQ(design.nearest_window, 5);
}

TEST(WindowDesign, handles_one_window_and_short_axes) {
  EXPECT_TRUE(window_design(7, 7, 3).fits);
  EXPECT_EQ(window_design(7, 7, 3).count, 1);
  EXPECT_TRUE(window_design(1, 1, 0).fits);
  for (const index_t n : {index_t{0}, index_t{6}}) {
    const WindowDesign design = window_design(n, 7, 3);
    EXPECT_FALSE(design.fits);
    EXPECT_EQ(design.count, 0);
    EXPECT_EQ(design.covered, 0);
    EXPECT_EQ(design.shorter_extent, 0);
    EXPECT_EQ(design.longer_extent, 7);
  }
  EXPECT_EQ(window_design(0, 7, 3).nearest_window, 0);
  EXPECT_EQ(window_design(6, 7, 3).nearest_window, 6);
}

TEST(WindowDesign, proposes_the_nearest_sizes_that_fit) {
  for (index_t n = 1; n <= 40; ++n) {
    for (index_t window = 1; window <= n; ++window) {
      for (index_t overlap = 0; overlap < window; ++overlap) {
        SCOPED_TRACE(testing::Message() << n << ", " << window << ", " << overlap);
        const WindowDesign design = window_design(n, window, overlap);
        ASSERT_EQ(design.fits, fill(n, window, overlap));
        ASSERT_TRUE(fill(design.shorter_extent, window, overlap));
        ASSERT_TRUE(fill(design.longer_extent, window, overlap));
        ASSERT_EQ(design.longer_extent - design.shorter_extent, design.fits ? 0 : design.step);
        ASSERT_TRUE(design.shorter_extent <= n && n <= design.longer_extent);
        ASSERT_TRUE(fill(n, window, design.nearest_overlap));
        for (index_t other = 0; other < window; ++other) {
          if (std::abs(other - overlap) < std::abs(design.nearest_overlap - overlap)) {
            ASSERT_FALSE(fill(n, window, other));
          }
        }
        ASSERT_TRUE(fill(n, design.nearest_window, overlap));
        for (index_t other = overlap + 1; other <= n; ++other) {
          if (std::abs(other - window) < std::abs(design.nearest_window - window)) {
            ASSERT_FALSE(fill(n, other, overlap));
          }
        }
      }
    }
  }
}

TEST(WindowDesign, computes_tapers) {
  using Weights = std::vector<double>;
  const auto expect_weights = [](const Weights& seen, const Weights& expected) {
    ASSERT_EQ(seen.size(), expected.size());
    for (std::size_t k = 0; k < seen.size(); ++k) EXPECT_NEAR(seen[k], expected[k], 1e-15) << k;
  };
  expect_weights(taper_weights(7, 3, Taper::hanning), {0, 0.5, 1, 1, 1, 0.5, 0});
  expect_weights(taper_weights(8, 4, Taper::hanning), {0, 0.25, 0.75, 1, 1, 0.75, 0.25, 0});
  expect_weights(taper_weights(8, 4, Taper::cosine), {0, 0.25, 0.75, 1, 1, 0.75, 0.25, 0});
  expect_weights(taper_weights(8, 4, Taper::cosine_square),
                 {0, 0.0625, 0.5625, 1, 1, 0.5625, 0.0625, 0});
  expect_weights(taper_weights(4, 3, Taper::none), {1, 1, 1, 1});
  expect_weights(taper_weights(3, 1, Taper::hanning), {1, 1, 1});
  expect_weights(taper_weights(2, 0, Taper::cosine_square), {1, 1});
}

TEST(WindowDesign, adjacent_hanning_windows_add_up_to_one) {
  for (const index_t overlap : {2, 3, 8, 17}) {
    const std::vector<double> weights = taper_weights(40, overlap, Taper::hanning);
    for (index_t k = 0; k < overlap; ++k) {
      const double sum = weights[static_cast<std::size_t>(k)] +
                         weights[static_cast<std::size_t>(40 - overlap + k)];
      EXPECT_NEAR(sum, 1, 1e-15);
    }
  }
}

TEST(WindowDesign, rejects_bad_sizes) {
  const auto has = [](const std::string& text, const std::string& word) {
    return text.find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of([] { window_design(-1, 4, 2); }), "-1 elements"));
  EXPECT_TRUE(has(error_of([] { window_design(9, 0, 0); }), "at least one"));
  EXPECT_TRUE(has(error_of([] { window_design(9, 4, 4); }), "from 0 to 3"));
  EXPECT_TRUE(has(error_of([] { window_design(9, 4, -2); }), "-2"));
  EXPECT_TRUE(has(error_of([] { taper_weights(7, 4, Taper::hanning); }), "4 of 7"));
  EXPECT_TRUE(has(error_of([] { taper_weights(7, 2, static_cast<Taper>(9)); }), "9"));
}

}  // namespace weft::test
