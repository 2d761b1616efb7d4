#include "op/support/check_operator.hpp"

#include <weft/op/basic/zero.hpp>

namespace weft::test {

TEST(Zero, matches_matrix) {
  on_ranks([](Comm comm) {
    for_operator_layouts<std::complex<float>>(comm, {5, 3}, [&](const Layout& layout) {
      const Layout range = Layout::replicated(layout.comm(), {4}).on(layout.device());
      const auto nothing = [](auto, auto) { return 0.0; };
      check_operator(zero<double>(layout, range), Expected<double>(4, 15, nothing));
      check_operator(zero<std::complex<double>, double>(range, layout),
                     Expected<std::complex<double>, double>(15, 4, nothing, nothing));
    });
  });
}

}  // namespace weft::test
