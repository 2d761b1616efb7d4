#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/zero.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/solve/power_iteration.hpp>

#include "solve/support/problems.hpp"
#include "support/ranks.hpp"

#include <algorithm>
#include <limits>
#include <numbers>

namespace weft::test {
namespace {

/// In descending order, for a matrix with at least as many rows as columns, by one-sided Jacobi
/// rotations (Hestenes).
std::vector<double> singular_values(RealMatrix a) {
  if (a.rows < a.columns) a = transposed(a);
  const auto dot = [&](index_t i, index_t j) {
    double sum = 0;
    for (index_t row = 0; row < a.rows; ++row) sum += a(row, i) * a(row, j);
    return sum;
  };
  for (int sweep = 0; sweep < 12; ++sweep) {
    for (index_t i = 0; i < a.columns; ++i) {
      for (index_t j = i + 1; j < a.columns; ++j) {
        const double along = dot(i, j);
        if (along == 0) continue;
        const double angle = 0.5 * std::atan2(2 * along, dot(i, i) - dot(j, j));
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (index_t row = 0; row < a.rows; ++row) {
          const double left = a(row, i);
          const double right = a(row, j);
          a(row, i) = c * left + s * right;
          a(row, j) = c * right - s * left;
        }
      }
    }
  }
  std::vector<double> values;
  for (index_t i = 0; i < a.columns; ++i) values.push_back(std::sqrt(dot(i, i)));
  std::sort(values.rbegin(), values.rend());
  return values;
}

}  // namespace

TEST(PowerIteration, finds_the_largest_eigenvalue) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      const auto a = diagonal_of(Layout::scatter(comm, {20}).on(device),
                                 [](double i) { return i == 7 ? 5.0 : i / 10; });
      const auto found = power_iteration(a, {.tolerance = 1e-14});
      EXPECT_TRUE(found.converged);
      EXPECT_NEAR(found.eigenvalue, 5, 1e-12);
      EXPECT_LE(found.eigenvalue, 5 * (1 + 1e-15));
      EXPECT_NEAR(norm(found.vector), 1, 1e-14);
      const std::vector<double> vector = whole(found.vector);
      EXPECT_NEAR(std::abs(vector[7]), 1, 1e-12);
      // A x = lambda x
      const auto image = whole(a * found.vector);
      EXPECT_LE(size_of_vector(plus(image, -5, vector)), 1e-6);
    }
  });
}

TEST(PowerIteration, does_not_depend_on_the_layout) {
  on_ranks([](Comm comm) {
    const auto d = [](double i) { return 1 + i; };
    const auto cut = power_iteration(diagonal_of(Layout::scatter(comm, {30}), d));
    const auto replicated = power_iteration(diagonal_of(Layout::replicated(comm, {30}), d));
    EXPECT_EQ(cut.iterations, replicated.iterations);
    EXPECT_NEAR(cut.eigenvalue, replicated.eigenvalue, 1e-12 * cut.eigenvalue);
    EXPECT_EQ(cut.converged, replicated.converged);
    const auto other = power_iteration(diagonal_of(Layout::scatter(comm, {30}), d), {.seed = 5});
    EXPECT_NE(cut.eigenvalue, other.eigenvalue);
  });
}

TEST(PowerIteration, all_scalars) {
  on_ranks([](Comm comm) {
    const auto check = [&]<Scalar T>(T) {
      const Layout line = Layout::scatter(comm, {6});
      const auto a = some_operator<T>(line, Layout::scatter(comm, {9}), 1);
      const double largest = singular_values(real_matrix(some_matrix<T, T>(9, 6, 1))).front();
      const auto found = power_iteration(a.normal(), {.max_iterations = 2000, .tolerance = 1e-7});
      EXPECT_TRUE(found.converged);
      EXPECT_NEAR(found.eigenvalue, largest * largest, 1e-4 * largest * largest);
    };
#define CHECK_SCALAR(T) check(T{});
    WEFT_FOR_EACH_SCALAR(CHECK_SCALAR)
#undef CHECK_SCALAR
  });
}

TEST(PowerIteration, largest_singular_value) {
  on_ranks([](Comm comm) {
    for (const auto& [rows, columns] : {std::pair{14, 9}, std::pair{6, 11}}) {
      const RealMatrix matrix = some_real_matrix(rows, columns);
      const double expected = singular_values(matrix).front();
      const auto found = largest_singular_value(operator_of(comm, matrix),
                                                {.max_iterations = 2000, .tolerance = 1e-12});
      EXPECT_TRUE(found.converged);
      EXPECT_NEAR(found.singular_value, expected, 1e-6 * expected);
      EXPECT_LE(found.singular_value, expected * (1 + 1e-13));
      EXPECT_EQ(found.vector.layout().count(), columns);
    }
    // Between real and complex numbers.
    const auto a = some_operator<double, std::complex<double>>(Layout::scatter(comm, {5}),
                                                               Layout::scatter(comm, {8}), 1);
    const double expected =
        singular_values(real_matrix(some_matrix<double, std::complex<double>>(8, 5, 1))).front();
    const auto found = largest_singular_value(a, {.max_iterations = 2000, .tolerance = 1e-12});
    EXPECT_NEAR(found.singular_value, expected, 1e-6 * expected);
  });
}

TEST(PowerIteration, stops_at_its_limits) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto a = diagonal_of(Layout::scatter(comm, {30}), [](double i) { return 1 + i; });
    EXPECT_FALSE(power_iteration(a, {.max_iterations = 5, .tolerance = 0}).converged);
    EXPECT_EQ(power_iteration(a, {.max_iterations = 5, .tolerance = 0}).iterations, 5);
    const auto rough = power_iteration(a, {.tolerance = 1e-2});
    const auto fine = power_iteration(a, {.max_iterations = 1000, .tolerance = 1e-8});
    EXPECT_TRUE(rough.converged && fine.converged);
    EXPECT_LT(rough.iterations, fine.iterations);
    EXPECT_NEAR(fine.eigenvalue, 30, 1e-5);
    // One collective call per iteration, and one at the start.
    const index_t calls =
        calls_of(comm, [&] { power_iteration(a, {.max_iterations = 7, .tolerance = 0}); });
    EXPECT_EQ(calls, comm.size() > 1 ? 8 : 0);
  });
}

TEST(PowerIteration, eigenvalues_increase) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {30}));
    double last = 0;
    for (index_t k = 1; k <= 20; ++k) {
      const double now = power_iteration(a, {.max_iterations = k, .tolerance = 0}).eigenvalue;
      EXPECT_GT(now, last);
      last = now;
    }
    EXPECT_LE(last, 30);
  });
}

TEST(PowerIteration, handles_zero_identity_and_empty_operators) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {9});
    const auto nothing = power_iteration(zero<double>(line, line));
    EXPECT_TRUE(nothing.converged);
    EXPECT_EQ(nothing.eigenvalue, 0);
    const auto same = power_iteration(identity<double>(line));
    EXPECT_TRUE(same.converged);
    EXPECT_NEAR(same.eigenvalue, 1, 1e-14);
    EXPECT_LE(same.iterations, 2);
    const auto empty = power_iteration(identity<double>(Layout::scatter(comm, {0})));
    EXPECT_TRUE(empty.converged);
    EXPECT_EQ(empty.eigenvalue, 0);
  });
}

TEST(PowerIteration, groups_of_ranks_have_separate_results_and_stop_together) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {12}).within(even_and_odd(comm.size()));
    const bool odd = comm.rank() % 2 == 1;
    const auto a = diagonal_of(layout, [&](double i) { return odd ? 1 + i : 2.0; });
    const auto found = power_iteration(a, {.max_iterations = 500, .tolerance = 1e-12});
    EXPECT_TRUE(found.converged);
    EXPECT_NEAR(found.eigenvalue, odd ? 12 : 2, 1e-6);
    EXPECT_EQ(comm.allreduce(found.iterations, ReduceOp::max), found.iterations);

    const auto condition = condition_estimate(a);
    EXPECT_NEAR(condition.condition, odd ? 12 : 1, 1e-6);

    const double nan = std::nan("");
    const auto bad =
        diagonal_of(layout, [&](double i) { return odd || comm.size() == 1 ? nan : i; });
    expect_error<ArgumentError>(comm, {"not finite"}, [&] { power_iteration(bad); });
    expect_error<ArgumentError>(comm, {"not finite"}, [&] { condition_estimate(bad); });
  });
}

TEST(PowerIteration, condition_of_known_matrices) {
  on_ranks([](Comm comm) {
    for (const auto& [rows, columns] : {std::pair{14, 9}, std::pair{6, 11}, std::pair{8, 8}}) {
      const RealMatrix matrix = some_real_matrix(rows, columns);
      const std::vector<double> values = singular_values(matrix);
      const auto found = condition_estimate(operator_of(comm, matrix));
      EXPECT_NEAR(found.largest, values.front(), 1e-9 * values.front());
      EXPECT_NEAR(found.smallest, values.back(), 1e-6 * values.back());
      EXPECT_NEAR(found.condition, values.front() / values.back(), 1e-6 * found.condition);
    }
    const auto hard =
        condition_estimate(operator_of(comm, matrix_of_condition(40, 20, 1e5)), {.steps = 100});
    EXPECT_NEAR(hard.condition, 1e5, 1e-3 * 1e5);
  });
}

TEST(PowerIteration, condition_is_a_lower_bound_that_grows) {
  on_ranks([](Comm comm) {
    const auto a = diagonal_of(Layout::scatter(comm, {60}), [](double i) { return 1 + i; });
    double last = 1;
    for (const index_t steps : {1, 3, 10, 30, 90}) {
      const auto found = condition_estimate(a, {.steps = steps});
      EXPECT_GE(found.condition, last * (1 - 1e-10));
      EXPECT_LE(found.condition, 60 * (1 + 1e-10));
      EXPECT_LE(found.largest, 60 * (1 + 1e-12));
      EXPECT_GE(found.smallest, 1 - 1e-10);
      last = found.condition;
    }
    EXPECT_NEAR(last, 60, 1e-6);
  });
}

TEST(PowerIteration, condition_of_special_operators) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      // The derivative of constants is zero.
      const auto a = first_derivative<double>(Layout::scatter(comm, {12}).on(device),
                                              {.kind = DerivativeKind::forward});
      EXPECT_GE(condition_estimate(a).condition, 1e12);
    }
    const Layout line = Layout::scatter(comm, {9});
    const auto nothing = condition_estimate(zero<double>(line, line));
    EXPECT_EQ(nothing.condition, std::numeric_limits<double>::infinity());
    EXPECT_EQ(nothing.largest, 0);
    const auto same = condition_estimate(3.0 * identity<double>(line));
    EXPECT_NEAR(same.condition, 1, 1e-12);
    EXPECT_NEAR(same.largest, 3, 1e-12);
    EXPECT_LE(same.steps, 2);
  });
}

TEST(PowerIteration, condition_between_all_pairs_of_scalars) {
  on_ranks([](Comm comm) {
    const auto check = [&]<Scalar D, Scalar R>(D, R) {
      const auto a =
          some_operator<D, R>(Layout::scatter(comm, {4}), Layout::scatter(comm, {11}), 1);
      const auto values = singular_values(real_matrix(some_matrix<D, R>(11, 4, 1)));
      const double expected = values.front() / values.back();
      const double tolerance = std::same_as<Real<D>, float> ? 1e-3 : 1e-9;
      EXPECT_NEAR(condition_estimate(a).condition, expected, tolerance * expected);
    };
    for_operator_scalars(check);
  });
}

TEST(PowerIteration, rejects_invalid_arguments) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {9});
    const auto a = identity<double>(line);
    const double nan = std::nan("");
    const auto refused = [&](const std::vector<std::string>& words,
                             const std::function<void()>& call) {
      expect_error<ArgumentError>(comm, words, call);
    };
    refused({"max_iterations = 0"}, [&] { power_iteration(a, {.max_iterations = 0}); });
    refused({"tolerance = -1"}, [&] { power_iteration(a, {.tolerance = -1}); });
    refused({"tolerance = nan"}, [&] { largest_singular_value(a, {.tolerance = nan}); });
    refused({"steps = 0"}, [&] { condition_estimate(a, {.steps = 0}); });
    refused({"power_iteration", "largest_singular_value"},
            [&] { power_iteration(operator_of(comm, some_real_matrix(5, 3))); });
    refused({"not positive semi-definite", "iteration 1"}, [&] { power_iteration(-a); });
    refused({"not positive semi-definite"}, [&] {
      power_iteration(diagonal_of(line, [](double i) { return i == 3 ? -5.0 : 1.0; }));
    });
    const auto bad = diagonal_of(line, [&](double i) { return i == 3 ? nan : 1.0; });
    refused({"power_iteration", "not finite"}, [&] { power_iteration(bad); });
    refused({"condition_estimate", "not finite"}, [&] { condition_estimate(bad); });
    refused({"largest_singular_value", "not finite"}, [&] { largest_singular_value(bad); });
    const auto copies = [](const ConstArrayView<double>& x, const ArrayView<double>& y) {
      copy(x, y);
    };
    const auto negated = [](const ConstArrayView<double>& y, const ArrayView<double>& x) {
      copy(-1.0 * y, x);
    };
    const auto wrong = function_operator<double>(line, line, copies, negated);
    refused({"largest_singular_value", "dot_test", "iteration 1"},
            [&] { largest_singular_value(wrong); });
  });
}

}  // namespace weft::test
