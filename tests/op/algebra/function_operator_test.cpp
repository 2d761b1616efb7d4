#include "op/support/check_operator.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>

#include <cmath>

namespace weft::test {

TEST(FunctionOperator, calls_its_functions) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_operator_layouts<T>(comm, {4, 3}, [&](const Layout& layout) {
        const auto twice = [](const ConstArrayView<T>& x, const ArrayView<T>& y) {
          axpby(2, x, 0, y);
        };
        const auto a = function_operator<T>(layout, layout, twice, twice, "twice");
        check_operator(
            a, Expected<T>(12, 12, [](index_t i, index_t j) { return i == j ? T{2} : T{}; }));
        EXPECT_EQ(a.name(), "twice");
        EXPECT_FALSE(a.capturable());
      });
    });
  });
}

// The cost of a function is unknown, so it must not be reported as 0.
TEST(FunctionOperator, has_unknown_cost) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3});
    const auto sends = [](const ConstArrayView<double>& x, const ArrayView<double>& y) {
      axpby(x.comm().allreduce(1.0), x, 0, y);
    };
    const auto a = function_operator<double>(layout, layout, sends, sends, "sends");
    EXPECT_TRUE(std::isnan(a.cost().messages));
    EXPECT_TRUE(std::isnan(a.adjoint_cost().messages));
    EXPECT_NE(a.describe().find("unknown flops, unknown bytes, unknown messages"),
              std::string::npos)
        << a.describe();
    // The cost of expressions that contain it is unknown as well.
    const std::string text = (2 * (a * adjoint(a)) + identity<double>(layout)).describe();
    EXPECT_NE(text.substr(0, text.find('\n')).find("unknown messages"), std::string::npos) << text;
    EXPECT_EQ(identity<double>(layout).describe().find("unknown"), std::string::npos);
  });
}

TEST(FunctionOperator, throws_without_an_adjoint) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4});
    const auto a =
        function_operator<double>(layout, layout, [](const auto& x, auto& y) { copy(x, y); });
    auto x = make_array<double>(layout);
    expect_elements(a * x, local_values<double>(layout));
    expect_error<ArgumentError>(comm, {"function", "adjoint"}, [&] { adjoint(a) * x; });
    expect_error<ArgumentError>(comm, {"function"},
                                [&] { function_operator<double>(layout, layout, nullptr); });
  });
}

}  // namespace weft::test
