#include "op/support/check_operator.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/algebra/memoize.hpp>
#include <weft/op/basic/identity.hpp>

#include <cmath>
#include <limits>

namespace weft::test {
namespace {

/// y = 2 x, and how often each direction was computed.
struct Counted {
  explicit Counted(const Layout& layout)
      : a(function_operator<double>(layout, layout, twice(forward), twice(adjoint), "twice")) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  static std::function<void(const ConstArrayView<double>&, const ArrayView<double>&)> twice(
      int& count) {
    return [&count](const ConstArrayView<double>& x, const ArrayView<double>& y) {
      ++count;
      axpby(2, x, 0, y);
    };
  }

  int forward = 0;
  int adjoint = 0;
  LinearOperator<double> a;
};

}  // namespace

TEST(Memoize, matches_its_operator) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const auto expected = some_matrix<T>(5, 12, 1);
      for_operator_layouts<T>(comm, {4, 3}, [&](const Layout& layout) {
        if (is_grouped(layout)) return;  // some_operator gathers arrays of all ranks
        const Layout range = Layout::replicated(layout.comm(), {5}).on(layout.device());
        const auto a = some_operator<T>(layout, range, 1);
        check_operator(memoize(a), expected);
        check_operator(memoize(a, 1), expected);
      });
    });
  });
}

TEST(Memoize, computes_equal_inputs_once) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      const Layout layout = Layout::scatter(comm, {7, 2}).on(device);
      Counted counted(layout);
      const auto a = memoize(counted.a, 2);
      auto y = make_array<double>(layout);
      const auto apply = [&](int seed, int forward, int adjoint) {
        const auto x = make_array<double>(layout, seed);
        a.forward(x, y);
        expect_elements(y, (2 * x).to_host());
        EXPECT_EQ(counted.forward, forward);
        a.adjoint(x, y);
        expect_elements(y, (2 * x).to_host());
        EXPECT_EQ(counted.adjoint, adjoint);
      };
      apply(1, 1, 1);
      apply(1, 1, 1);
      apply(2, 2, 2);
      apply(1, 2, 2);
      apply(3, 3, 3);  // replaces the pair of 1
      apply(2, 3, 3);
      apply(1, 4, 4);
    }
  });
}

// Ranks whose own part is equal must compute with the others: A can communicate.
TEST(Memoize, agrees_between_ranks) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {comm.size()});
    Counted counted(layout);
    const auto a = memoize(counted.a);
    DistributedArray<double> y(layout);
    for (index_t changed = 0; changed < comm.size(); ++changed) {
      DistributedArray<double> x(layout);
      x.fill([&](const Index& at) { return at[0] == changed ? 1.0 : 0.0; });
      a.forward(x, y);
      EXPECT_EQ(counted.forward, changed + 1);
      expect_elements(y, (2 * x).to_host());
      a.forward(x, y);
      EXPECT_EQ(counted.forward, changed + 1);
    }
  });
}

TEST(Memoize, compares_bits) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {3});
    Counted counted(layout);
    const auto a = memoize(counted.a);
    DistributedArray<double> x(layout);
    DistributedArray<double> y(layout);
    int computed = 0;
    for (const double value :
         {0.0, -0.0, 1.0, std::nextafter(1.0, 2.0), std::numeric_limits<double>::quiet_NaN()}) {
      x.fill(value);
      a.forward(x, y);
      EXPECT_EQ(counted.forward, ++computed) << value;
      a.forward(x, y);
      EXPECT_EQ(counted.forward, computed) << value;
    }
  });
}

TEST(Memoize, does_not_keep_the_result_of_an_error) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {3});
    bool fails = true;
    const auto a = memoize(function_operator<double>(layout, layout, [&](auto& x, auto& y) {
      require(!fails, "the function fails");
      copy(x, y);
    }));
    const auto x = make_array<double>(layout);
    expect_error<ArgumentError>(comm, {"the function fails"}, [&] { a* x; });
    fails = false;
    expect_elements(a * x, x.to_host());
  });
}

TEST(Memoize, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {3});
    const auto a = some_operator<double>(layout, layout, 1);
    for (const int max : {-1, 0, 64}) {
      expect_error<ArgumentError>(comm, {"memoize", "some operator 1", std::to_string(max)},
                                  [&, most = max] { memoize(a, most); });
    }
    EXPECT_TRUE(memoize(identity<double>(layout)).is_identity());
  });
}

}  // namespace weft::test
