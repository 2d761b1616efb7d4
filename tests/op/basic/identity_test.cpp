#include "op/support/check_operator.hpp"

#include <weft/op/basic/identity.hpp>

namespace weft::test {

TEST(Identity, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_operator_layouts<T>(comm, {5, 3}, [&](const Layout& layout) {
        const Expected<T> matrix(15, 15, [](index_t i, index_t j) { return T(i == j ? 1 : 0); });
        check_operator(identity<T>(layout), matrix);
      });
      for_each_layout(stacks(comm), [&](const Layout& layout) {
        const index_t n = layout.count();
        check_operator(identity<T>(layout),
                       Expected<T>(n, n, [](index_t i, index_t j) { return T(i == j ? 1 : 0); }));
      });
    });
  });
}

}  // namespace weft::test
