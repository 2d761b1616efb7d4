#include <weft/op/dense_matrix.hpp>

#include <weft/core/error.hpp>
#include <weft/op/basic/complex_parts.hpp>

#include "op/support/check_operator.hpp"

namespace weft::test {

TEST(DenseMatrix, matches_matrix) {
  on_ranks([](Comm comm) {
    const auto check = [&](auto in, auto out) {
      using D = decltype(in);
      using R = decltype(out);
      const auto expected = some_matrix<D, R>(6, 5, 1);
      const Layout domain =
          Layout::stack({Layout::scatter(comm, {3}), Layout::replicated(comm, {2})});
      const Layout range = Layout::scatter(comm, {2, 3}, 1);
      for (const Device device : {Device::cpu(), other_device()}) {
        const DenseMatrix<R> matrix =
            todense(some_operator<D, R>(domain.on(device), range.on(device), 1));
        EXPECT_EQ(matrix.rows, 6);
        EXPECT_EQ(matrix.columns, 5);
        EXPECT_EQ(matrix.values, expected.on_real);
      }
    };
    check(float{}, float{});
    check(double{}, std::complex<double>{});
    check(std::complex<float>{}, std::complex<float>{});
    expect_error<ArgumentError>(comm, {"conjugation", "real"}, [&] {
      todense(conjugation<std::complex<double>>(Layout::scatter(comm, {2, 3})));
    });
  });
}

}  // namespace weft::test
