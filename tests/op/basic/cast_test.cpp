#include "op/support/check_operator.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/op/basic/cast.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/dense_matrix.hpp>

namespace weft::test {
namespace {

/// y = x, or the real part of x if y is real.
template <class D, class R>
Expected<D, R> cast_matrix(index_t n) {
  const auto one = [](index_t i, index_t j) { return i == j ? R{1} : R{}; };
  if constexpr (is_complex<R>) return {n, n, one};
  return {n, n, one, [](index_t, index_t) { return R{}; }};
}

/// f(d, r) for examples of every pair of scalars.
template <class F>
void for_each_pair(F f) {
  for_each_scalar([&](auto d) { for_each_scalar([&](auto r) { f(d, r); }); });
}

}  // namespace

TEST(Cast, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_pair([&](auto d, auto r) {
      using D = decltype(d);
      using R = decltype(r);
      const auto expected = cast_matrix<D, R>(12);
      for_operator_layouts<D>(comm, {4, 3}, [&](const Layout& layout) {
        const LinearOperator<D, R> a = cast<R, D>(layout);
        check_operator(a, expected);
        EXPECT_EQ(a.is_complex_linear(), is_complex<D> && is_complex<R>);
      });
    });
  });
}

TEST(Cast, rounds_to_the_precision_of_its_range) {
  on_ranks([](Comm comm) {
    DistributedArray<double> x(Layout::scatter(comm, {5}));
    x.fill(1.0 / 3);
    for (const float y : (cast<float>(x.layout()) * x).to_host()) {
      EXPECT_EQ(y, static_cast<float>(1.0 / 3));
    }
    for (const auto y : (cast<std::complex<float>, double>(x.layout()) * x).to_host()) {
      EXPECT_EQ(y, std::complex<float>(static_cast<float>(1.0 / 3)));
    }
  });
}

TEST(Cast, simplifies) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3});
    const auto is_identity = cast<double, double>(layout).is_identity();
    EXPECT_TRUE(is_identity);
    const auto name = cast<std::complex<double>>(layout).name();
    EXPECT_EQ(name, "cast to c128");
  });
}

// The diagonal of D, applied in its own precision between casts from and to any other scalars.
TEST(Cast, composes_with_operators_of_all_scalars) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3});
    for_each_pair([&](auto d, auto e) {
      using D = decltype(d);
      using E = decltype(e);
      const auto diagonal_of = make_array<E>(layout, 5);
      const std::vector<E> values = global_values<E>(layout, 5);
      const auto A = diagonal<E>(diagonal_of);
      // (i, j) of A, applied to factor times the unit vector.
      const auto entry = [&](E factor) {
        return [&values, factor](index_t i, index_t j) {
          return i == j ? values[static_cast<std::size_t>(i)] * factor : E{};
        };
      };
      E unit = E{};
      if constexpr (is_complex<D> && is_complex<E>) unit = E{0, 1};
      check_operator(A * cast<E, D>(layout), Expected<D, E>(12, 12, entry(1), entry(unit)));
      check_operator(2 * (A * cast<E, D>(layout)) - A * cast<E, D>(layout),
                     Expected<D, E>(12, 12, entry(1), entry(unit)));
      // Back to D: real parts of products if D is real.
      const auto back = [&](E factor) {
        return [f = entry(factor)](index_t i, index_t j) {
          const E value = f(i, j);
          if constexpr (is_complex<D>) {
            return D(static_cast<Real<D>>(std::real(value)),
                     static_cast<Real<D>>(std::imag(value)));
          } else {
            return static_cast<D>(std::real(value));
          }
        };
      };
      check_operator(cast<D, E>(layout) * A * cast<E, D>(layout),
                     Expected<D>(12, 12, back(1), back(unit)));
    });
  });
}

TEST(Cast, takes_part_in_the_algebra) {
  on_ranks([](Comm comm) {
    using CF = std::complex<float>;
    using CD = std::complex<double>;
    const Layout layout = Layout::scatter(comm, {3, 2});
    const auto single = make_array<CF>(layout, 3);
    const auto a = diagonal<CF>(single) * cast<CF>(layout);  // from CD
    const auto values = global_values<CF>(layout, 3);
    const auto matrix = [&](auto f) {
      return Expected<CD, CF>(6, 6, [&, f](index_t i, index_t j) {
        return i == j ? f(values[static_cast<std::size_t>(i)]) : CF{};
      });
    };
    check_operator(a, matrix([](CF v) { return v; }));
    check_operator(conj(a), matrix([](CF v) { return std::conj(v); }));
    check_operator(CF{2, 3} * a, matrix([](CF v) { return CF{2, 3} * v; }));
    check_operator(a + a, matrix([](CF v) { return v + v; }));
    check_operator(adjoint(transpose(a)), matrix([](CF v) { return std::conj(v); }));
    const auto normal = todense(a.normal());
    for (index_t i = 0; i < 6; ++i) {
      EXPECT_EQ(normal(i, i), CD(std::norm(values[static_cast<std::size_t>(i)])));
    }
    const auto part = todense(real_part(a * cast<CD, double>(layout)));
    for (index_t i = 0; i < 6; ++i) {
      EXPECT_EQ(part(i, i), std::real(values[static_cast<std::size_t>(i)]));
    }
  });
}

}  // namespace weft::test
