#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/redistribute.hpp>

namespace weft::test {

TEST(Redistribute, is_unitary) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const auto expected = identity_matrix<T>(30);
      for_operator_layouts<T>(comm, {5, 6}, [&](const Layout& from) {
        if (is_grouped(from)) return;
        for (const Layout& to :
             {Layout::scatter(from.comm(), {5, 6}, 1), Layout::bricks(from.comm(), {5, 6}),
              Layout::replicated(from.comm(), {5, 6})}) {
          const auto a = redistribute<T>(from, to.on(from.device()));
          check_operator(a, expected);
          EXPECT_TRUE(a.normal().is_identity());
        }
      });
    });
  });
}

TEST(Redistribute, works_on_stacks) {
  on_ranks([](Comm comm) {
    const Layout from =
        Layout::stack({Layout::scatter(comm, {5, 2}), Layout::replicated(comm, {3})});
    const Layout to = Layout::stack({Layout::scatter(comm, {5, 2}, 1), Layout::scatter(comm, {3})});
    check_operator(redistribute<double>(from, to), identity_matrix<double>(13));
  });
}

TEST(Redistribute, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<ArgumentError>(comm, {"(4, 5)", "(5, 4)"}, [&] {
      redistribute<double>(layout, Layout::scatter(comm, {5, 4}));
    });
    expect_error<ArgumentError>(comm, {"cpu", to_string(other_device())},
                                [&] { redistribute<double>(layout, layout.on(other_device())); });
  });
}

}  // namespace weft::test
