#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

namespace weft::test {
namespace {

/// Expects the elements f(x, y), where x and y are the arrays made with seeds 1 and 2.
template <Scalar R, Scalar T>
void expect_function(const ConstArrayView<R>& seen, const std::function<R(T, T)>& f) {
  const std::vector<T> x = local_values<T>(seen.layout(), 1);
  const std::vector<T> y = local_values<T>(seen.layout(), 2);
  std::vector<R> result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(f(x[i], y[i]));
  expect_elements(seen, result);
}
template <Scalar T>
void expect(const ConstArrayView<T>& seen, const std::type_identity_t<std::function<T(T, T)>>& f) {
  expect_function<T, T>(seen, f);
}

/// check(x, y) in all types, for arrays in all layouts.
template <class F>
void for_all_arrays(F check) {
  on_ranks([&](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {6, 5, 4}, [&](const Layout& layout) {
        auto x = make_array<T>(layout, 1);
        auto y = make_array<T>(layout, 2);
        check(x, y);
        expect_elements(x, local_values<T>(layout, 1));  // not changed
      });
    });
  });
}

template <class T>
constexpr T number(int re, int im) {
  if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  } else {
    return static_cast<T>(re);
  }
}

template <class T>
T naive_conj(T x) {
  if constexpr (is_complex<T>) return {x.real(), -x.imag()};
  return x;
}

template <class A>
using ScalarOf = std::remove_cvref_t<decltype(*std::declval<A&>().data())>;

// Conversions that lose digits or an imaginary part do not compile.

template <class A, class B>
concept Addable = requires(A& a, const B& b) {
  a + b;
}
|| requires(A& a, const B& b) { a += b; }
|| requires(A& a, const B& b) { a - b; }
|| requires(A& a, const B& b) { a -= b; };
template <class A, class B>
concept Multipliable = requires(A& a, const B& b) {
  a* b;
}
|| requires(A& a, const B& b) { b* a; }
|| requires(A& a, const B& b) { a *= b; };
template <class A, class S>
concept TakesFactor = requires(A& a, const A& x, S s) {
  axpy(s, x, a);
};
template <class U, class T>
concept Convertible = requires(const ConstArrayView<T>& x) {
  astype<U>(x);
};

using F = DistributedArray<float>;
using D = DistributedArray<double>;
using CF = DistributedArray<std::complex<float>>;
using CD = DistributedArray<std::complex<double>>;

static_assert(Addable<F, F> && Addable<D, D> && Addable<CF, CF> && Addable<CD, CD>);
static_assert(!Addable<F, D> && !Addable<D, F> && !Addable<CF, CD> && !Addable<CD, CF>);
static_assert(!Addable<D, CD> && !Addable<CD, D> && !Addable<F, CF> && !Addable<CF, F>);
static_assert(Addable<D, double> && Addable<D, int> && Addable<CD, double>);
static_assert(Addable<CD, std::complex<double>> && Addable<F, float>);
static_assert(!Addable<F, double> && !Addable<D, float> && !Addable<D, std::complex<double>>);

static_assert(Multipliable<F, F> && Multipliable<CD, CD>);
static_assert(!Multipliable<F, D> && !Multipliable<CD, D> && !Multipliable<D, CD>);
static_assert(Multipliable<F, float> && Multipliable<D, double> && Multipliable<D, int>);
static_assert(!Multipliable<F, double> && !Multipliable<D, float>);
static_assert(!Multipliable<F, std::complex<float>> && !Multipliable<D, std::complex<double>>);
static_assert(Multipliable<CF, std::complex<float>> && Multipliable<CF, float>);
static_assert(Multipliable<CD, std::complex<double>> && Multipliable<CD, double>);
static_assert(!Multipliable<CF, double> && !Multipliable<CF, std::complex<double>>);
static_assert(!Multipliable<CD, std::complex<float>>);

static_assert(TakesFactor<D, double> && TakesFactor<CD, double> &&
              TakesFactor<CD, std::complex<double>>);
static_assert(!TakesFactor<D, std::complex<double>> && !TakesFactor<F, std::complex<float>>);
static_assert(!TakesFactor<CF, std::complex<double>>);
static_assert(!TakesFactor<F, double> && !TakesFactor<CF, double>);
static_assert(TakesFactor<F, float> && TakesFactor<F, int> && TakesFactor<CF, int>);
static_assert(TakesFactor<CD, double> && TakesFactor<CD, std::complex<double>>);

static_assert(Convertible<std::complex<double>, float> && Convertible<float, double>);
static_assert(!Convertible<float, std::complex<float>> &&
              !Convertible<double, std::complex<float>>);

}  // namespace

TEST(Arithmetic, copies) {
  for_all_arrays([](auto& x, auto& y) {
    copy(x, y);
    expect_elements(y, x.to_host());
  });
}

TEST(Arithmetic, scales) {
  for_all_arrays([](auto&, auto& y) {
    using T = ScalarOf<decltype(y)>;
    const T a = number<T>(3, -2);
    scale(a, y);
    expect(y, [&](T, T b) { return a * b; });
  });
}

TEST(Arithmetic, axpy) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    const T a = number<T>(-2, 5);
    axpy(a, x, y);
    expect(y, [&](T p, T q) { return q + a * p; });
  });
}

TEST(Arithmetic, axpby) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    const T a = number<T>(-2, 5);
    const T b = number<T>(0, 3);
    axpby(a, x, b, y);
    expect(y, [&](T p, T q) { return a * p + b * q; });
  });
}

TEST(Arithmetic, axpby_with_zero_does_not_read_its_output) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    y.fill(T(std::numeric_limits<Real<T>>::quiet_NaN()));
    axpby(T{2}, x, T{0}, y);
    expect(y, [](T p, T) { return T{2} * p; });
  });
}

TEST(Arithmetic, multiplies_element_by_element) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    multiply(x, y);
    expect(y, [](T p, T q) { return p * q; });
  });
}

TEST(Arithmetic, conjugates) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    conjugate(x, y);
    expect(y, [](T p, T) { return naive_conj(p); });
    expect_elements(conj(x), y.to_host());
  });
}

TEST(Arithmetic, takes_parts_and_magnitudes) {
  for_all_arrays([](auto& x, auto&) {
    using T = ScalarOf<decltype(x)>;
    using R = Real<T>;
    static_assert(std::is_same_v<decltype(abs(x)), DistributedArray<R>>);
    expect_function<R, T>(real(x), [](T p, T) { return static_cast<R>(std::real(p)); });
    expect_function<R, T>(imag(x), [](T p, T) { return static_cast<R>(std::imag(p)); });
    const std::vector<T> elements = x.to_host();
    const std::vector<R> seen = abs(x).to_host();
    ASSERT_EQ(seen.size(), elements.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const R expected = std::abs(elements[i]);
      EXPECT_NEAR(seen[i], expected, 2 * std::numeric_limits<R>::epsilon() * expected);
    }
  });
}

TEST(Arithmetic, magnitudes_do_not_overflow_or_underflow) {
  on_ranks([](Comm comm) {
    DistributedArray<std::complex<double>> x(Layout::replicated(comm, {2}));
    x.from_host(std::vector<std::complex<double>>{{3e200, 4e200}, {3e-200, -4e-200}});
    const std::vector<double> seen = abs(x).to_host();
    EXPECT_DOUBLE_EQ(seen[0], 5e200);
    EXPECT_DOUBLE_EQ(seen[1], 5e-200);
  });
}

TEST(Arithmetic, operators) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    using R = Real<T>;
    const T a = number<T>(3, 1);
    expect(x + y, [](T p, T q) { return p + q; });
    expect(x - y, [](T p, T q) { return p - q; });
    expect(x * y, [](T p, T q) { return p * q; });
    expect(-x, [](T p, T) { return -p; });
    expect(a * x, [&](T p, T) { return a * p; });
    expect(x * a, [&](T p, T) { return a * p; });
    expect(R{2} * x, [](T p, T) { return p * R{2}; });
    expect(x * R{2}, [](T p, T) { return p * R{2}; });
    expect(y, [](T, T q) { return q; });

    y += x;
    expect(y, [](T p, T q) { return p + q; });
    y -= x;
    y -= x;
    expect(y, [](T p, T q) { return q - p; });
    y += x;
    y *= x;
    expect(y, [](T p, T q) { return p * q; });
    y *= a;
    expect(y, [&](T p, T q) { return a * (p * q); });
    y *= R{4};
    expect(y, [&](T p, T q) { return R{4} * (a * (p * q)); });
    EXPECT_EQ(&(y += x), &y);
  });
}

TEST(Arithmetic, numbers_are_added_to_every_element) {
  for_all_arrays([](auto& x, auto& y) {
    using T = ScalarOf<decltype(y)>;
    using R = Real<T>;
    const T a = number<T>(5, 2);
    expect(x + a, [&](T p, T) { return p + a; });
    expect(a + x, [&](T p, T) { return p + a; });
    expect(x - a, [&](T p, T) { return p - a; });
    expect(a - x, [&](T p, T) { return a - p; });
    expect(x + R{4}, [](T p, T) { return p + R{4}; });
    expect(3 - x, [](T p, T) { return R{3} - p; });
    expect(x - 3U, [](T p, T) { return p - R{3}; });
    y += a;
    expect(y, [&](T, T q) { return q + a; });
    y -= R{7};
    expect(y, [&](T, T q) { return q + a - R{7}; });
    const ArrayView<T> view = y;
    view -= a;
    view += 7;
    expect(y, [](T, T q) { return q; });
    EXPECT_EQ(&(y += a), &y);
  });
}

TEST(Arithmetic, integers_are_factors) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {17});
    const auto x = make_array<float>(layout);
    const auto z = make_array<std::complex<double>>(layout);
    EXPECT_EQ((2 * x).to_host(), (x + x).to_host());
    EXPECT_EQ((x * 2L).to_host(), (x + x).to_host());
    EXPECT_EQ((3 * z).to_host(), (z + z + z).to_host());
  });
}

TEST(Arithmetic, arguments_may_be_the_same_array) {
  for_all_arrays([](auto&, auto& y) {
    using T = ScalarOf<decltype(y)>;
    axpy(T{3}, y, y);
    expect(y, [](T, T q) { return T{4} * q; });
    axpby(T{3}, y, T{-2}, y);
    expect(y, [](T, T q) { return T{4} * q; });
    axpby(T{-2}, y, T{0}, y);
    expect(y, [](T, T q) { return T{-8} * q; });
    conjugate(y, y);
    expect(y, [](T, T q) { return T{-8} * naive_conj(q); });
    copy(y, y);
    y = static_cast<const std::remove_reference_t<decltype(y)>&>(y);
    expect(y, [](T, T q) { return T{-8} * naive_conj(q); });
    multiply(y, y);
    expect(y, [](T, T q) { return T{64} * (naive_conj(q) * naive_conj(q)); });
    y -= y;
    expect(y, [](T, T) { return T{}; });
  });
}

TEST(Arithmetic, converts_between_types) {
  on_ranks([](Comm comm) {
    for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
      const auto x = make_array<double>(layout, 1);
      const auto z = make_array<std::complex<float>>(layout, 1);
      EXPECT_EQ(astype<float>(x).to_host(), local_values<float>(layout, 1));
      EXPECT_EQ(astype<double>(astype<float>(x)).to_host(), x.to_host());
      EXPECT_EQ(astype<double>(x).to_host(), x.to_host());
      const auto complex = astype<std::complex<float>>(x);
      EXPECT_EQ(complex.layout(), layout);
      EXPECT_EQ(real(complex).to_host(), local_values<float>(layout, 1));
      EXPECT_EQ(imag(complex).to_host(), imag(z * 0.0F).to_host());
      EXPECT_EQ(astype<std::complex<double>>(z).to_host(),
                local_values<std::complex<double>>(layout, 1));
      EXPECT_EQ(astype<std::complex<float>>(astype<std::complex<double>>(z)).to_host(),
                z.to_host());
    });
    DistributedArray<double> third(Layout::replicated(comm, {1}));
    third.fill(1.0 / 3);
    EXPECT_EQ(astype<float>(third).to_host()[0], static_cast<float>(1.0 / 3));
  });
}

TEST(Arithmetic, a_real_and_a_complex_array_are_added_without_loss) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {17});
    const auto x = make_array<double>(layout, 1);
    const auto z = make_array<std::complex<double>>(layout, 2);
    const auto sum = astype<std::complex<double>>(x) + z;
    EXPECT_EQ(imag(sum).to_host(), imag(z).to_host());
    EXPECT_EQ(real(sum).to_host(), (x + real(z)).to_host());
    const auto turned = astype<std::complex<double>>(x) * std::complex<double>(0, 1);
    EXPECT_EQ(imag(turned).to_host(), x.to_host());
  });
}

TEST(Arithmetic, keeps_the_precision_of_its_type) {
  on_ranks([](Comm comm) {
    DistributedArray<float> x(Layout::scatter(comm, {9}));
    x.fill(1.0F);
    const auto y = x * 0.1F + x;
    for (const float element : y.to_host()) EXPECT_EQ(element, 1.0F * 0.1F + 1.0F);
  });
}

TEST(Arithmetic, layouts_must_be_equal) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {6, 6});
    std::vector<Layout> others = {Layout::scatter(comm, {6, 5}), rows.on(other_device()),
                                  Layout::stack({rows})};
    if (comm.size() > 1) {
      others.push_back(Layout::scatter(comm, {6, 6}, 1));
      others.push_back(Layout::replicated(comm, {6, 6}));
      others.push_back(rows.within(first_alone(comm.size())));
      others.push_back(Layout::scatter(comm.dup(), {6, 6}));
    }
    auto x = make_array<double>(rows);
    for (const Layout& other : others) {
      SCOPED_TRACE(to_string(other));
      auto y = make_array<double>(other);
      EXPECT_THROW(copy(x, y), ArgumentError);
      EXPECT_THROW(axpy(1, x, y), ArgumentError);
      EXPECT_THROW(axpby(1, x, 1, y), ArgumentError);
      EXPECT_THROW(multiply(x, y), ArgumentError);
      EXPECT_THROW(conjugate(x, y), ArgumentError);
      EXPECT_THROW(x + y, ArgumentError);
      EXPECT_THROW(x - y, ArgumentError);
      EXPECT_THROW(x * y, ArgumentError);
      EXPECT_THROW(y += x, ArgumentError);
      EXPECT_EQ(y.to_host(), local_values<double>(other));
    }
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

}  // namespace weft::test
