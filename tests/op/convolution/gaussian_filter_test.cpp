#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/gaussian_filter.hpp>

#include "op/convolution/support/gaussian.hpp"

#include <limits>

namespace weft::test {
TEST(GaussianFilter, matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape shape{5, 6};
      // Radii 1.5 * 1 + 0.5 -> 2 and 1.5 * 0.6 + 0.5 -> 1.
      const Expected<T> expected(30, 30, [&](index_t row, index_t column) {
        const Index to = point_at(shape, row);
        const Index from = point_at(shape, column);
        return T(static_cast<Real<T>>(gaussian(to[0], from[0], 1, 2) *
                                      gaussian(to[1], from[1], 0.6, 1)));
      });
      for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
        check_operator(gaussian_filter<T>(layout, {.sigma = {1, 0.6}, .truncate = 1.5}), expected,
                       tolerance<T>);
      });
    });
  });
}

TEST(GaussianFilter, along_given_axes_only) {
  on_ranks([](Comm comm) {
    const Shape shape{3, 7};
    const Expected<double> expected(21, 21, [&](index_t row, index_t column) {
      const Index to = point_at(shape, row);
      const Index from = point_at(shape, column);
      return to[0] == from[0] ? gaussian(to[1], from[1], 2, 8) : 0;
    });
    for_operator_layouts<double>(comm, shape, [&](const Layout& layout) {
      check_operator(gaussian_filter<double>(layout, {.sigma = {2}, .axes = {-1}}), expected,
                     1e-14);
    });
    const Layout layout = Layout::scatter(comm, shape);
    EXPECT_TRUE(gaussian_filter<double>(layout, {.sigma = {0}}).is_identity());
  });
}

TEST(GaussianFilter, keeps_constants_away_from_the_ends) {
  auto x = DistributedArray<double>(Layout::local({40}));
  x.fill(3.0);
  const auto y = (gaussian_filter<double>(x.layout(), {.sigma = {1.5}}) * x).to_host();
  for (std::size_t i = 6; i < 34; ++i) EXPECT_NEAR(y[i], 3, 1e-14);
  EXPECT_LT(y[0], 2);
}

TEST(GaussianFilter, rejects_bad_options) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto expect_rejected = [&](std::vector<std::string> words,
                                     const GaussianFilterOptions& options) {
      words.emplace_back("gaussian_filter");
      expect_error<ArgumentError>(comm, words, [&] { gaussian_filter<double>(layout, options); });
    };
    expect_rejected({"sigma", "-1"}, {.sigma = {-1}});
    expect_rejected({"sigma", "nan"}, {.sigma = {nan}});
    expect_rejected({"3 values of sigma", "2 axes"}, {.sigma = {1, 2, 3}});
    expect_rejected({"truncate", "0"}, {.truncate = 0});
    expect_rejected({"too many taps"}, {.sigma = {1e12}});
    expect_rejected({"axis 1", "twice"}, {.axes = {1, -1}});
  });
}

}  // namespace weft::test
