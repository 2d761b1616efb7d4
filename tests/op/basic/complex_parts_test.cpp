#include "op/support/check_operator.hpp"

#include <weft/op/basic/complex_parts.hpp>

namespace weft::test {
namespace {

template <class T>
std::function<T(index_t, index_t)> times_identity(T factor) {
  return [=](index_t i, index_t j) { return i == j ? factor : T{}; };
}

}  // namespace

TEST(ComplexParts, match_matrices) {
  on_ranks([](Comm comm) {
    const auto check = [&](auto example) {
      using T = decltype(example);
      using R = Real<T>;
      const auto zero = times_identity<R>(0);
      const auto one = times_identity<R>(1);
      for_operator_layouts<T>(comm, {4, 3}, [&](const Layout& layout) {
        check_operator(real_part<T>(layout), Expected<T, R>(12, 12, one, zero));
        check_operator(imag_part<T>(layout), Expected<T, R>(12, 12, zero, one));
        check_operator(conjugation<T>(layout),
                       Expected<T>(12, 12, times_identity<T>(1), times_identity<T>({0, -1})));
        EXPECT_TRUE(conjugation<T>(layout).normal().is_identity());
      });
    };
    check(std::complex<float>{});
    check(std::complex<double>{});
  });
}

TEST(ComplexParts, simplify_for_real_arrays) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3});
    EXPECT_TRUE(real_part<float>(layout).is_identity());
    EXPECT_TRUE(imag_part<float>(layout).is_zero());
    EXPECT_TRUE(conjugation<double>(layout).is_identity());
  });
}

}  // namespace weft::test
