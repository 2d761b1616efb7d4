#include <weft/op/dot_test.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/op/diagonal.hpp>
#include <weft/op/function_operator.hpp>

#include "op/support/check_operator.hpp"

namespace weft::test {

TEST(DotTest, passes_and_fails) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Layout layout = Layout::scatter(comm, {6, 5});
      const auto d = make_array<T>(layout);
      const auto times = [&](const DistributedArray<T>& x, DistributedArray<T>& y) { y = d * x; };
      const auto wrong = [&](const DistributedArray<T>& x, DistributedArray<T>& y) {
        y = d * x;
        axpy(static_cast<Real<T>>(0.001), x, y);
      };
      EXPECT_TRUE(dot_test(diagonal(d)));
      EXPECT_FALSE(dot_test(function_operator<T>(layout, layout, times, wrong)));
      const DotTestResult strict = dot_test(diagonal(d), {.tolerance = 1e-30});
      EXPECT_EQ(strict.tolerance, 1e-30);
      // Right for real numbers only: d where conj(d) should be.
      EXPECT_EQ(dot_test(function_operator<T>(layout, layout, times, times)).passed(),
                !is_complex<T>);
    });
  });
}

// By the seed and the global position alone: the same numbers for any number of ranks.
TEST(DotTest, does_not_depend_on_ranks) {
  on_ranks([](Comm comm) {
    const auto on_one = [](const Layout& layout) {
      return dot_test(diagonal(make_array<double>(layout, 3)), {.seed = 7});
    };
    const DotTestResult local = on_one(Layout::local({6, 5}));
    for_each_layout(on_devices(layouts(comm, {6, 5})), [&](const Layout& layout) {
      const DotTestResult result = on_one(layout);
      EXPECT_NEAR(result.forward.real(), local.forward.real(), 1e-12);
      EXPECT_NEAR(result.adjoint.real(), local.adjoint.real(), 1e-12);
    });
  });
}

TEST(DotTest, says_what_it_saw) {
  const Layout layout = Layout::local({3});
  const std::string text = to_string(dot_test(diagonal(make_array<float>(layout))));
  EXPECT_NE(text.find("passed"), std::string::npos) << text;
}

TEST(DotTest, random_arrays) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const auto all = random_array<T>(Layout::local({6, 5, 2}), 3).to_host();
      for_each_layout(on_devices(layouts(comm, {6, 5, 2})), [&](const Layout& layout) {
        std::vector<T> expected;
        for_each_point(layout.box(), [&](const Index& point) {
          expected.push_back(all[static_cast<std::size_t>(position_of({6, 5, 2}, point))]);
        });
        expect_elements(random_array<T>(layout, 3), expected);
      });
      for (const T value : all) {
        EXPECT_LE(std::abs(std::real(value)), 1);
        EXPECT_LE(std::abs(std::imag(value)), 1);
      }
      EXPECT_NE(random_array<T>(Layout::local({6, 5, 2}), 4).to_host(), all);
    });
    const Layout same =
        Layout::stack({Layout::replicated(comm, {4}), Layout::replicated(comm, {4})});
    const auto x = random_array<double>(same, 3);
    EXPECT_NE(x.part(0).to_host(), x.part(1).to_host());
  });
}

}  // namespace weft::test
