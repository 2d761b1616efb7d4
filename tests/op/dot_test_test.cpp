#include <weft/op/dot_test.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>

#include "op/support/check_operator.hpp"

namespace weft::test {

TEST(DotTest, detects_wrong_adjoints) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Layout layout = Layout::scatter(comm, {6, 5});
      const auto d = make_array<T>(layout);
      const auto times = [&](const ConstArrayView<T>& x, const ArrayView<T>& y) { copy(d * x, y); };
      const auto wrong = [&](const ConstArrayView<T>& x, const ArrayView<T>& y) {
        copy(d * x, y);
        axpy(static_cast<Real<T>>(0.001), x, y);
      };
      EXPECT_TRUE(dot_test(diagonal(d)));
      EXPECT_FALSE(dot_test(function_operator<T>(layout, layout, times, wrong)));
      const DotTestResult strict = dot_test(diagonal(d), {.tolerance = 1e-30});
      EXPECT_EQ(strict.tolerance, 1e-30);
      // Uses d instead of conj(d), which is correct for real numbers only.
      EXPECT_EQ(dot_test(function_operator<T>(layout, layout, times, times)).passed(),
                !is_complex<T>);
    });
  });
}

// A x and Aᴴ y consist of rounding errors, which are unrelated, but bounded by the numbers that
// cancel.
TEST(DotTest, tolerates_cancellation) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Layout layout = Layout::scatter(comm, {60, 5});
      const auto d = make_array<T>(layout, 1);
      for (const Real<T> size : {Real<T>{1}, static_cast<Real<T>>(1e12)}) {
        // (d + 1/3) x - d x - x / 3, in an order that leaves something.
        const Real<T> third = size / 3;
        const auto cancel = [&](const ConstArrayView<T>& f, const ConstArrayView<T>& x,
                                const ArrayView<T>& y) {
          DistributedArray<T> sum = size * f;
          DistributedArray<T> thirds(layout);
          thirds.fill(T{third});
          sum += thirds;
          copy(sum * x - size * (f * x), y);
          axpy(-third, x, y);
        };
        const auto forward = [&](const ConstArrayView<T>& x, const ArrayView<T>& y) {
          cancel(d, x, y);
        };
        const auto adjoint = [&](const ConstArrayView<T>& x, const ArrayView<T>& y) {
          cancel(conj(d), x, y);
        };
        const auto wrong = [&](const ConstArrayView<T>& x, const ArrayView<T>& y) {
          cancel(conj(d), x, y);
          axpy(size * static_cast<Real<T>>(0.01), x, y);
        };
        const auto affine = [&](const ConstArrayView<T>& x, const ArrayView<T>& y) {
          cancel(conj(d), x, y);
          DistributedArray<T> constant(layout);
          constant.fill(T{size});
          y += constant;
        };
        const auto test = [&](const auto& backward) {
          return dot_test(function_operator<T>(layout, layout, forward, backward));
        };
        EXPECT_GT(norm(function_operator<T>(layout, layout, forward) * d), 0);
        EXPECT_TRUE(test(adjoint)) << to_string(test(adjoint));
        EXPECT_FALSE(test(wrong)) << to_string(test(wrong));
        EXPECT_FALSE(test(affine)) << to_string(test(affine));
      }
    });
  });
}

// The tolerance is relative: small operators must not pass because they are small.
TEST(DotTest, detects_wrong_adjoints_at_any_scale) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    const auto scaled_by = [](double a) {
      return
          [=](const ConstArrayView<double>& x, const ArrayView<double>& y) { axpby(a, x, 0, y); };
    };
    for (const double size : {1e-20, 1e-100, 1e20}) {
      const auto right = scaled_by(size);
      const auto wrong = scaled_by(size * (1 + 1e-9));
      EXPECT_TRUE(dot_test(function_operator<double>(layout, layout, right, right)));
      EXPECT_FALSE(dot_test(function_operator<double>(layout, layout, right, wrong)));
      EXPECT_FALSE(dot_test(function_operator<double>(layout, layout, right, scaled_by(0))));
    }
  });
}

// Dot tests of one group must not involve the other.
TEST(DotTest, runs_in_one_group_alone) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {60, 5}).within(even_and_odd(comm.size()));
    const auto a = identity<double>(layout);
    comm.barrier();
    if (comm.rank() % 2 == 0) {
      EXPECT_TRUE(dot_test(a));
    }
    comm.barrier();
  });
}

// One group sees errors, the other none: both must apply the operator equally often.
TEST(DotTest, handles_groups_with_different_results) {
  on_ranks([](Comm comm) {
    const Layout groups = Layout::scatter(comm, {60}).within(even_and_odd(comm.size()));
    const Layout all = Layout::scatter(comm, {60});
    const auto needs_all_ranks = [&](const auto&, const ArrayView<double>& y) {
      // Not linear on odd ranks, whose group cannot estimate rounding errors then.
      y.fill(comm.rank() % 2);
      comm.barrier();
    };
    const auto a = function_operator<double>(groups, all, needs_all_ranks, needs_all_ranks);
    EXPECT_EQ(dot_test(a).passed(), comm.size() == 1);
  });
}

TEST(DotTest, is_independent_of_the_number_of_ranks) {
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

TEST(DotTest, formats_its_result) {
  const Layout layout = Layout::local({3});
  const std::string text = to_string(dot_test(diagonal(make_array<float>(layout))));
  EXPECT_NE(text.find("passed"), std::string::npos) << text;
}

TEST(DotTest, random_arrays_are_independent_of_layouts) {
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
