#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/regression.hpp>

#include <cmath>

namespace weft::test {
namespace {

/// t at a position of the global array: small integers, so that powers are exact.
double t_at(index_t position) { return static_cast<double>(position % 5) - 2; }

template <class T>
Expected<T> vandermonde(const Shape& shape, int order) {
  return {shape.count(), order + 1, [&](index_t row, index_t column) {
            return T(static_cast<Real<T>>(std::pow(t_at(row), static_cast<double>(column))));
          }};
}

template <class R>
DistributedArray<R> make_t(const Layout& layout) {
  std::vector<R> all;
  for (index_t i = 0; i < layout.count(); ++i) all.push_back(static_cast<R>(t_at(i)));
  return DistributedArray<R>::from_global(layout, all);
}

}  // namespace

TEST(Regression, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{9}, Shape{1}, Shape{3, 4}}) {
        for (const int order : {0, 1, 3, 4}) {
          const auto expected = vandermonde<T>(shape, order);
          for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
            check_operator(regression<T>(make_t<Real<T>>(layout), {.order = order}), expected);
          });
        }
      }
    });
  });
}

TEST(Regression, has_a_replicated_model) {
  on_ranks([](Comm comm) {
    const auto R = regression<double>(make_t<double>(Layout::scatter(comm, {9})), {.order = 2});
    EXPECT_EQ(R.domain(), Layout::replicated(comm, {3}));
    EXPECT_EQ(R.range(), Layout::scatter(comm, {9}));
    EXPECT_EQ(regression<double>(make_t<double>(Layout::scatter(comm, {9}))).domain().count(), 2);
  });
}

// Moments of floats are summed in double precision.
TEST(Regression, sums_in_double_precision) {
  on_ranks([](Comm comm) {
    const index_t n = 3'001;
    const Layout layout = Layout::scatter(comm, {n});
    DistributedArray<float> t(layout);
    t.fill(1.0F);
    DistributedArray<float> y(layout);
    const float small = std::ldexp(1.0F, -24);
    y.fill([&](const Index& at) { return at[0] == 0 ? 1.0F : small; });
    const auto x = adjoint(regression<float>(t)) * y;
    const auto sum = static_cast<float>(1 + static_cast<double>(n - 1) * std::ldexp(1.0, -24));
    expect_elements(x, std::vector<float>{sum, sum});
  });
}

TEST(Regression, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {5});
    expect_error<ArgumentError>(comm, {"regression", "order", "-1"},
                                [&] { regression<double>(make_t<double>(layout), {.order = -1}); });
    const Layout stack = Layout::stack({layout});
    expect_error<ArgumentError>(comm, {"regression", "stack"},
                                [&] { regression<double>(DistributedArray<double>(stack)); });
  });
}

}  // namespace weft::test
