#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/downsample.hpp>

#include "op/convolution/support/gaussian.hpp"

namespace weft::test {

TEST(Downsample, matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape shape{7, 5};
      const Shape coarse{3, 3};
      // The default standard deviations are 1 and 0.5; radii 1.5 + 0.5 -> 2 and 0.75 + 0.5 -> 1.
      const Expected<T> expected(9, 35, [&](index_t row, index_t column) {
        const Index to = point_at(coarse, row);
        const Index from = point_at(shape, column);
        return T(static_cast<Real<T>>(gaussian(3 * to[0], from[0], 1, 2) *
                                      gaussian(2 * to[1], from[1], 0.5, 1)));
      });
      for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
        check_operator(downsample<T>(layout, {.factors = {3, 2}, .truncate = 1.5}), expected,
                       tolerance<T>);
      });
    });
  });
}

TEST(Downsample, without_a_filter_keeps_samples) {
  on_ranks([](Comm comm) {
    const Shape shape{2, 9};
    const Shape coarse{2, 3};
    const Expected<double> expected(6, 18, [&](index_t row, index_t column) {
      const Index to = point_at(coarse, row);
      return Index{to[0], 4 * to[1]} == point_at(shape, column) ? 1 : 0;
    });
    for_operator_layouts<double>(comm, shape, [&](const Layout& layout) {
      check_operator(downsample<double>(layout, {.factors = {4}, .sigma = {0}, .axes = {1}}),
                     expected);
    });
    EXPECT_TRUE(downsample<double>(Layout::scatter(comm, shape), {.factors = {1}}).is_identity());
  });
}

TEST(Downsample, rejects_bad_options) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect_rejected = [&](std::vector<std::string> words,
                                     const DownsampleOptions& options) {
      words.emplace_back("downsample");
      expect_error<ArgumentError>(comm, words, [&] { downsample<double>(layout, options); });
    };
    expect_rejected({"factors", "0"}, {.factors = {2, 0}});
    expect_rejected({"3 values of factors", "2 axes"}, {.factors = {1, 2, 3}});
    expect_rejected({"sigma", "-2"}, {.sigma = {-2}});
    expect_rejected({"truncate", "-1"}, {.truncate = -1});
    expect_rejected({"2"}, {.axes = {2}});
  });
}

}  // namespace weft::test
