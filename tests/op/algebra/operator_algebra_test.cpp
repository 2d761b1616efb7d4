#include "op/support/check_operator.hpp"

#include <weft/array/random.hpp>
#include <weft/core/error.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/restriction.hpp>
#include <weft/op/basic/zero.hpp>

namespace weft::test {
namespace {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

/// A real-linear map of vectors.
template <class D, class R>
using Columns = std::function<std::vector<R>(const std::vector<D>&)>;

/// The matrix of y = f(x), found by applying f to unit vectors and, for complex D, to i times them.
template <class D, class R>
Expected<D, R> expected_of(index_t rows, index_t columns, const Columns<D, R>& f) {
  std::vector<std::vector<R>> on_real;
  std::vector<std::vector<R>> on_imag;
  for (index_t column = 0; column < columns; ++column) {
    std::vector<D> unit(static_cast<std::size_t>(columns));
    unit[static_cast<std::size_t>(column)] = D{1};
    on_real.push_back(f(unit));
    if constexpr (is_complex<D>) unit[static_cast<std::size_t>(column)] = D{0, 1};
    on_imag.push_back(f(unit));
  }
  const auto entry = [](const auto& of) {
    return [&of](index_t row, index_t column) {
      return of[static_cast<std::size_t>(column)][static_cast<std::size_t>(row)];
    };
  };
  return {rows, columns, entry(on_real), entry(on_imag)};
}

template <class T>
std::vector<T> plus(std::vector<T> a, T factor, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
  return a;
}

template <class T>
std::vector<T> times(T factor, std::vector<T> a) {
  for (T& value : a) value *= factor;
  return a;
}

template <class T>
std::vector<T> conj_of(std::vector<T> a) {
  if constexpr (is_complex<T>) {
    for (T& value : a) value = std::conj(value);
  }
  return a;
}

template <class T>
T some_number() {
  if constexpr (is_complex<T>) return {2, -3};
  return -2;
}

/// f(domain, range) for some pairs of layouts of 5 and 4 elements.
template <class T>
void for_some_layouts(const Comm& comm,
                      const std::function<void(const Layout&, const Layout&)>& f) {
  const Layout rows = Layout::scatter(comm, {5});
  const Layout few = Layout::scatter(comm, {2, 2}, 1);
  const Layout whole = Layout::replicated(comm, {4});
  const Layout parts = Layout::stack({Layout::scatter(comm, {3}), Layout::replicated(comm, {2})});
  f(rows, few);
  f(parts, whole);
  f(Layout::local({5}), Layout::local({4}));
  if (std::same_as<T, Complex64>) f(parts.on(other_device()), few.on(other_device()));
}

/// f(domain scalar, range scalar) for some pairs of the same precision.
template <class F>
void for_each_pair(F f) {
  f(float{}, float{});
  f(double{}, double{});
  f(Complex64{}, Complex64{});
  f(double{}, Complex128{});
  f(Complex64{}, float{});
}

}  // namespace

TEST(OperatorAlgebra, matches_sums_differences_and_multiples) {
  on_ranks([](Comm comm) {
    for_each_pair([&](auto in, auto out) {
      using D = decltype(in);
      using R = decltype(out);
      const auto a = some_matrix<D, R>(4, 5, 1);
      const auto b = some_matrix<D, R>(4, 5, 2);
      const R c = some_number<R>();
      for_some_layouts<D>(comm, [&](const Layout& domain, const Layout& range) {
        const auto A = some_operator<D, R>(domain, range, 1);
        const auto B = some_operator<D, R>(domain, range, 2);
        const auto check = [&](const LinearOperator<D, R>& made, const Columns<D, R>& f) {
          check_operator(made, expected_of<D, R>(4, 5, f));
        };
        check(A + B, [&](const auto& x) { return plus(a.forward(x), R{1}, b.forward(x)); });
        check(A - B, [&](const auto& x) { return plus(a.forward(x), R{-1}, b.forward(x)); });
        check(-A, [&](const auto& x) { return times(R{-1}, a.forward(x)); });
        check(c * A, [&](const auto& x) { return times(c, a.forward(x)); });
        check(2 * A - B * c + A,
              [&](const auto& x) { return plus(times(R{3}, a.forward(x)), -c, b.forward(x)); });
      });
    });
  });
}

TEST(OperatorAlgebra, products) {
  on_ranks([](Comm comm) {
    const auto check = [&](auto in, auto between, auto out) {
      using D = decltype(in);
      using E = decltype(between);
      using R = decltype(out);
      const auto a = some_matrix<E, R>(5, 4, 1);
      const auto b = some_matrix<D, E>(4, 5, 2);
      for_some_layouts<D>(comm, [&](const Layout& five, const Layout& four) {
        const auto A = some_operator<E, R>(four, five, 1);
        const auto B = some_operator<D, E>(five, four, 2);
        check_operator(
            A * B, expected_of<D, R>(5, 5, [&](const auto& x) { return a.forward(b.forward(x)); }));
      });
    };
    check(float{}, float{}, float{});
    check(Complex128{}, Complex128{}, Complex128{});
    check(double{}, Complex128{}, double{});
    check(Complex64{}, float{}, Complex64{});
  });
}

TEST(OperatorAlgebra, matches_adjoints_transposes_and_conjugates) {
  on_ranks([](Comm comm) {
    for_each_pair([&](auto in, auto out) {
      using D = decltype(in);
      using R = decltype(out);
      const auto a = some_matrix<D, R>(4, 5, 1);
      for_some_layouts<D>(comm, [&](const Layout& domain, const Layout& range) {
        const auto A = some_operator<D, R>(domain, range, 1);
        const auto conjugated =
            expected_of<D, R>(4, 5, [&](const auto& x) { return conj_of(a.forward(conj_of(x))); });
        check_operator(conj(A), conjugated);
        check_operator(transpose(A), expected_of<R, D>(5, 4, [&](const auto& y) {
                         return conjugated.adjoint(y);
                       }));
        check_operator(A.normal(), expected_of<D, D>(5, 5, [&](const auto& x) {
                         return a.adjoint(a.forward(x));
                       }));
        check_operator(real_part(A), expected_of<D, Real<R>>(4, 5, [&](const auto& x) {
                         std::vector<Real<R>> y;
                         for (const R value : a.forward(x)) y.push_back(std::real(value));
                         return y;
                       }));
        check_operator(imag_part(A), expected_of<D, Real<R>>(4, 5, [&](const auto& x) {
                         std::vector<Real<R>> y;
                         for (const R value : a.forward(x)) y.push_back(std::imag(value));
                         return y;
                       }));
      });
    });
  });
}

// Complex factors do not commute with real-linear maps, which matters for the adjoint.
TEST(OperatorAlgebra, scales_real_linear_operators_by_complex_numbers) {
  on_ranks([](Comm comm) {
    using T = Complex128;
    const T c{2, -3};
    for_some_layouts<T>(comm, [&](const Layout& layout, const Layout&) {
      const auto identity_times = [](T factor) {
        return [=](index_t i, index_t j) { return i == j ? factor : T{}; };
      };
      check_operator(c * conjugation<T>(layout),
                     Expected<T>(5, 5, identity_times(c), identity_times(c * T{0, -1})));
      const auto back = adjoint(real_part<T>(layout)) * real_part<T>(layout);
      EXPECT_FALSE(back.is_complex_linear());
      check_operator(c * back, Expected<T>(5, 5, identity_times(c), identity_times(0)));
      check_operator(c * adjoint(real_part<T>(layout)),
                     Expected<double, T>(5, 5, identity_times(c)));
    });
  });
}

TEST(OperatorAlgebra, matches_powers) {
  on_ranks([](Comm comm) {
    const auto a = some_matrix<double>(5, 5, 1);
    for (const int n : {0, 1, 2, 3, 6}) {
      for_some_layouts<double>(comm, [&](const Layout& layout, const Layout&) {
        check_operator(pow(some_operator<double>(layout, layout, 1), n),
                       expected_of<double, double>(5, 5, [&](std::vector<double> x) {
                         for (int done = 0; done < n; ++done) x = a.forward(x);
                         return x;
                       }));
      });
    }
  });
}

TEST(OperatorAlgebra, simplifies) {
  on_ranks([](Comm comm) {
    using T = Complex64;
    const Layout x = Layout::scatter(comm, {5});
    const Layout y = Layout::scatter(comm, {4});
    const auto A = some_operator<T>(x, y, 1);
    const auto same = [](const auto& a, const auto& b) { return a.node() == b.node(); };
    EXPECT_TRUE(same(adjoint(adjoint(A)), A));
    EXPECT_TRUE(same(conj(conj(A)), A));
    EXPECT_TRUE(same(A * identity<T>(x), A));
    EXPECT_TRUE(same(identity<T>(y) * A, A));
    EXPECT_TRUE(same(A + zero<T>(x, y), A));
    EXPECT_TRUE(same(zero<T>(x, y) + A, A));
    EXPECT_TRUE(same(A - zero<T>(x, y), A));
    EXPECT_TRUE(same(1 * A, A));
    EXPECT_TRUE(same(-(-A), A));
    EXPECT_TRUE(pow(some_operator<T>(x, x, 1), 0).is_identity());
    EXPECT_TRUE((A * zero<T>(y, x)).is_zero());
    EXPECT_TRUE((zero<T>(y, x) * A).is_zero());
    EXPECT_EQ((zero<T>(y, x) * A).domain(), x);
    EXPECT_TRUE((0 * A).is_zero());
    EXPECT_TRUE(adjoint(zero<T>(x, y)).is_zero());
    EXPECT_TRUE(adjoint(identity<T>(x)).is_identity());
    // Nested scalings fold into one, whose only child is A.
    const auto folded = T{0, 2} * (3 * (T{1, 1} * A));
    ASSERT_EQ(folded.node()->children().size(), 1U);
    EXPECT_EQ(folded.node()->children()[0], A.node().get());
    EXPECT_EQ(folded.name(), "(-6+6i) times");
    const auto real = some_operator<double>(x, y, 1);
    EXPECT_TRUE(same(conj(real), real));
    EXPECT_TRUE(same(transpose(transpose(real)), real));
  });
}

TEST(OperatorAlgebra, describes_expression_trees) {
  on_ranks([](Comm comm) {
    const Layout x = Layout::scatter(comm, {8, 100});
    const Layout y = restriction<float>(x, {1, 3}, {.axis = 1}).range();
    const auto A = restriction<float>(x, {1, 3}, {.axis = 1}) * diagonal(make_array<float>(x)) +
                   3 * zero<float>(x, y) - 2 * restriction<float>(x, {0, 0}, {.axis = 1});
    const std::string text = describe(A);
    for (const char* words : {"sum: ", "  product: ", "    diagonal: ", "  -2 times: ", "f32",
                              "    restriction along axis 1: ", "bytes", "flops", "messages"}) {
      EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
    }
    EXPECT_EQ(text.find("zero"), std::string::npos) << text;
    EXPECT_NE(text.find(to_string(x)), std::string::npos) << text;
    EXPECT_EQ(A.cost().messages, 0);
    EXPECT_EQ(A.cost().flops, static_cast<double>(x.local_count()));
  });
}

TEST(OperatorAlgebra, reports_what_can_be_captured) {
  on_ranks([](Comm comm) {
    const Layout x = Layout::scatter(comm, {5});
    const auto A = diagonal(make_array<double>(x));
    EXPECT_TRUE((A * A + A).capturable());
    EXPECT_FALSE((A * A + some_operator<double>(x, x, 1)).capturable());
  });
}

TEST(OperatorAlgebra, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout five = Layout::scatter(comm, {5});
    const Layout four = Layout::scatter(comm, {4});
    const Layout whole = Layout::replicated(comm, {5});
    const auto A = some_operator<double>(five, four, 1);
    const std::vector<std::string> both = {to_string(five), to_string(four)};
    expect_error<ArgumentError>(comm, both, [&] { A* A; });
    expect_error<ArgumentError>(comm, both, [&] { pow(A, 2); });
    expect_error<ArgumentError>(comm, both, [&] { A + adjoint(A); });
    expect_error<ArgumentError>(comm, {"some operator 1", "-1"}, [&] { pow(A, -1); });
    if (comm.size() > 1) {
      expect_error<ArgumentError>(comm, {to_string(five), to_string(whole)},
                                  [&] { identity<double>(five) - identity<double>(whole); });
    }
    expect_error<ArgumentError>(comm, {"cpu", to_string(other_device())},
                                [&] { A* identity<double>(five.on(other_device())); });

    auto x = make_array<double>(five);
    auto y = make_array<double>(four);
    expect_error<ArgumentError>(comm, {"forward of some operator 1", both[0], both[1]},
                                [&] { A* y; });
    expect_error<ArgumentError>(comm, {"forward of some operator 1", both[0], both[1]},
                                [&] { A.forward(x, x); });
    expect_error<ArgumentError>(comm, {"adjoint of some operator 1", both[0], both[1]},
                                [&] { A.adjoint(x, x); });
    if (x.local_count() == 0) return;
    EXPECT_THROW(identity<double>(five).forward(x, x), ArgumentError);
    std::vector<double> memory(20);
    const Layout local = Layout::local({10});
    auto one = ArrayView<double>(local, memory.data(), 10);
    auto other = ArrayView<double>(local, memory.data() + 9, 10);
    EXPECT_THROW(identity<double>(local).forward(one, other), ArgumentError);
    EXPECT_THROW(identity<double>(local).adjoint(other, one), ArgumentError);
  });
}

template <class X, class Y>
concept CanApply = requires(const LinearOperator<double>& a, X& x, Y& y) {
  a.forward(x, y);
  a.adjoint(x, y, {2, 1});
};
static_assert(CanApply<const DistributedArray<double>, DistributedArray<double>>);
static_assert(CanApply<ConstArrayView<double>, const ArrayView<double>>);
static_assert(CanApply<ArrayView<double>, DistributedArray<double>>);
static_assert(!CanApply<DistributedArray<double>, const DistributedArray<double>>);
static_assert(!CanApply<DistributedArray<double>, ConstArrayView<double>>);
static_assert(!CanApply<DistributedArray<float>, DistributedArray<double>>);

TEST(OperatorAlgebra, operators_apply_to_views) {
  on_ranks([](Comm comm) {
    const Layout four = Layout::scatter(comm, {4});
    const Layout five = Layout::scatter(comm, {5});
    const auto A = some_operator<double>(four, five, 1);
    DistributedArray<double> stack(Layout::stack({five, four}));
    fill_random(stack, 3);
    const DistributedArray<double>& constant = stack;
    const DistributedArray<double> x = stack.part(1).copy();
    const auto expected = A * x;
    expect_elements(A * constant.part(1), expected.to_host());
    A.forward(constant.part(1), stack.part(0));
    expect_elements(stack.part(0), expected.to_host());
    const auto gradient = adjoint(A) * expected;
    A.adjoint(stack.part(0), stack.part(1));
    expect_elements(stack.part(1), gradient.to_host());
    EXPECT_THROW(A.forward(stack.part(1), stack.part(1)), ArgumentError);
  });
}

}  // namespace weft::test
