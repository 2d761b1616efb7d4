// The iterations of ista and fista.

#include <weft/array/arithmetic.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/solve/ista.hpp>

#include "solve/support/lasso.hpp"
#include "solve/support/problems.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"

#include <limits>

namespace weft::test {
namespace {

/// Iterates 1 to n of the textbook recurrence, on one rank.
std::vector<std::vector<double>> textbook(const RealMatrix& a, const std::vector<double>& y,
                                          double eps, double step, bool momentum, bool restart,
                                          std::vector<double> x, int n) {
  const RealMatrix transpose = transposed(a);
  std::vector<double> z = x;
  double theta = 1;
  std::vector<std::vector<double>> iterates;
  for (int k = 0; k < n; ++k) {
    std::vector<double> next = plus(z, step, product(transpose, plus(y, -1, product(a, z))));
    double turn = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = soft(next[i], step * eps);
      turn += (z[i] - next[i]) * (next[i] - x[i]);
    }
    double beyond = 0;
    if (restart && turn > 0) {
      theta = 1;
    } else {
      const double last = theta;
      theta = (1 + std::sqrt(1 + 4 * last * last)) / 2;
      beyond = (last - 1) / theta;
    }
    z = plus(next, momentum ? beyond : 0, plus(next, -1, x));
    x = next;
    iterates.push_back(x);
  }
  return iterates;
}

/// Counts the applications of an operator.
struct Counted {
  explicit Counted(const LinearOperator<double>& of)
      : a(function_operator<double>(
            of.domain(), of.range(),
            [this, of](const ConstArrayView<double>& x, const ArrayView<double>& y) {
              ++forwards;
              of.forward(x, y);
            },
            [this, of](const ConstArrayView<double>& y, const ArrayView<double>& x) {
              ++adjoints;
              of.adjoint(y, x);
            })) {}

  index_t forwards = 0;
  index_t adjoints = 0;
  LinearOperator<double> a;
};

}  // namespace

TEST(Fista, iterates_match_the_textbook) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, matrix_of_condition(20, 9, 30));
    const std::vector<double> x0 = some_vector(9, 4);
    const auto start = array_of(problem.a.domain(), x0);
    const SolverOptions options{.relative_tolerance = 0};
    const double eps = 0.3;
    const auto expect_steps = [&](auto& solver, bool momentum, bool restart) {
      for (const auto& expected :
           textbook(problem.matrix, problem.data, eps, 0.9, momentum, restart, x0, 60)) {
        EXPECT_TRUE(solver.step());
        expect_near(solver.x(), expected, 1e-11);
      }
    };
    Ista slow(problem.a, problem.y, options, {.eps = eps, .step = 0.9, .x0 = start});
    expect_steps(slow, false, false);
    for (const bool restart : {false, true}) {
      Fista fast(problem.a, problem.y, options,
                 {.eps = eps, .step = 0.9, .restart = restart, .x0 = start});
      expect_steps(fast, true, restart);
    }
  });
}

TEST(Fista, momentum_and_restarts_save_iterations) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);  // too many for this check
    const Problem problem(comm, matrix_of_condition(24, 16, 10));
    const double eps = 1e-3;
    const SolverOptions options{.max_iterations = 10000, .relative_tolerance = 1e-9};
    const auto slow = ista(problem.a, problem.y, options, {.eps = eps});
    const auto plain = fista(problem.a, problem.y, options, {.eps = eps, .restart = false});
    const auto fast = fista(problem.a, problem.y, options, {.eps = eps});
    const std::vector<double> expected = lasso(problem.matrix, problem.data, eps);
    for (const auto* fit : {&slow, &plain, &fast}) {
      EXPECT_EQ(fit->reason, StopReason::converged) << fit->message;
      expect_near(fit->x, expected, 1e-6);
    }
    EXPECT_LT(5 * fast.iterations, slow.iterations);
    EXPECT_LT(fast.iterations, plain.iterations);
  });
}

TEST(Fista, one_forward_and_one_adjoint_per_iteration) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(10, 14));
    Counted counted(problem.a);
    const auto count = [&](auto&& solver) {
      counted.forwards = counted.adjoints = 0;
      for (int k = 0; k < 20; ++k) EXPECT_TRUE(solver.step());
    };
    const SolverOptions options{.relative_tolerance = 0};
    for (const bool backtracking : {false, true}) {
      const IstaOptions<double> how{.eps = 3, .backtracking = backtracking};
      for (const bool momentum : {false, true}) {
        if (momentum) {
          count(Fista(counted.a, problem.y, options, how));
        } else {
          count(Ista(counted.a, problem.y, options, how));
        }
        EXPECT_EQ(counted.adjoints, 20);
        if (backtracking) {
          EXPECT_GE(counted.forwards, 20);
          EXPECT_LE(counted.forwards, 30);
        } else {
          EXPECT_EQ(counted.forwards, 20);
        }
      }
    }
  });
}

TEST(Fista, solves_separate_problems_of_groups) {
  on_ranks([](Comm comm) {
    const GroupsProblem problem(comm, 10);
    const std::vector<double> scales = problem.d.to_host();
    for (const bool backtracking : {false, true}) {
      const auto fit =
          fista(diagonal(problem.d), problem.y, exactly, {.eps = 5, .backtracking = backtracking});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      EXPECT_EQ(comm.allreduce(fit.iterations, ReduceOp::max), fit.iterations);
      const std::vector<double> xs = fit.x.to_host();
      for (std::size_t i = 0; i < xs.size(); ++i) {
        EXPECT_NEAR(xs[i], 10 / scales[i] - 5 / (scales[i] * scales[i]), 1e-10);
      }
    }
  });
}

TEST(Fista, one_collective_per_iteration) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t several = comm.size() > 1 ? 1 : 0;
    const auto calls = [&](const Layout& layout, const IstaOptions<double>& how) {
      const auto a = diagonal_of(layout, [](double i) { return 1 + 0.01 * i; });
      const auto y = make_array<double>(layout, 2);
      Ista slow(a, y, {.relative_tolerance = 0}, how);
      Fista fast(a, y, {.relative_tolerance = 0}, how);
      const index_t of_slow = calls_per_iteration(comm, slow);
      EXPECT_EQ(of_slow, calls_per_iteration(comm, fast));
      return of_slow;
    };
    const Layout cut = Layout::scatter(comm, {40});
    EXPECT_EQ(calls(cut, {}), several);
    EXPECT_EQ(calls(cut, {.sparsifier = identity<double>(cut)}), several);
    EXPECT_EQ(calls(cut, {.step = 0.1, .backtracking = true}),
              several);  // the first step is short enough
    EXPECT_EQ(calls(Layout::replicated(comm, {40}), {}), 0);
  });
}

TEST(Fista, iterations_do_not_allocate) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const Device device : {Device::cpu(), other_device()}) {
      const Layout line = Layout::scatter(comm, {400}).on(device);
      const auto a = first_derivative<double>(line);
      Fista fast(a, make_array<double>(line), {.max_iterations = 1000, .relative_tolerance = 0},
                 {.sparsifier = identity<double>(line), .backtracking = true, .decay = {3, 2}});
      expect_no_allocation(comm, [&] { fast.step(); });
      EXPECT_EQ(fast.iteration(), 102);
      Ista slow(a, make_array<double>(line), {.max_iterations = 1000, .relative_tolerance = 0});
      expect_no_allocation(comm, [&] { slow.step(); });
    }
  });
}

TEST(Fista, detects_values_that_are_not_finite) {
  on_ranks([](Comm comm) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Problem problem(comm, matrix_of_condition(11, 5, 10));
    std::vector<double> data = problem.data;
    data[7] = nan;
    const auto fit = ista(problem.a, array_of(problem.a.range(), data));
    EXPECT_EQ(fit.reason, StopReason::not_finite);
    expect_contains(fit.message, "iteration 0");
    for (const auto& no_step :
         {ista(nan * problem.a, problem.y), fista(nan * problem.a, problem.y)}) {
      EXPECT_EQ(no_step.reason, StopReason::not_finite);
      EXPECT_EQ(no_step.iterations, 0);
      expect_contains(no_step.message, "|AᴴA v| is not finite");
      expect_contains(no_step.message, "in power iteration 1");
      expect_near(no_step.x, std::vector<double>(5), 0);
    }
    // An operator that fails in the power iterations, after the first residual.
    const auto late = ista(failing_operator(problem.a, 3), problem.y);
    EXPECT_EQ(late.reason, StopReason::not_finite);
    expect_contains(late.message, "in power iteration 3");

    // An operator that fails later: x keeps its value from before the failure.
    for (const bool backtracking : {false, true}) {
      for (const index_t check_every : {1, 5}) {
        const auto failing = failing_operator(problem.a, 3);
        Fista solver(failing, problem.y, {.check_every = check_every},
                     {.eps = 0.2, .step = 0.9, .backtracking = backtracking});
        solver.run();
        EXPECT_EQ(solver.stop_reason(), StopReason::not_finite);
        expect_contains(solver.message(), fmt::format("iteration {}", check_every == 1 ? 3 : 5));
        const auto before =
            textbook(problem.matrix, problem.data, 0.2, 0.9, true, true, std::vector<double>(5), 2);
        expect_near(solver.x(), before.back(), 1e-12);
      }
    }
  });
}

TEST(Fista, detects_a_wrong_adjoint) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto wrong = function_operator<double>(
        problem.a.domain(), problem.a.range(),
        [&](const ConstArrayView<double>& x, const ArrayView<double>& y) {
          problem.a.forward(x, y);
        },
        [&](const ConstArrayView<double>& y, const ArrayView<double>& x) {
          problem.a.adjoint(y, x, {-1, 0});
        });
    const auto fit = fista(wrong, problem.y);
    EXPECT_EQ(fit.reason, StopReason::breakdown);
    expect_contains(fit.message, "dot_test");
    expect_contains(fit.message, "in power iteration 1");
  });
}

TEST(Fista, detects_steps_that_are_too_long) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto fit = fista(problem.a, problem.y, {.max_iterations = 1000}, {.eps = 1, .step = 1});
    EXPECT_EQ(fit.reason, StopReason::not_finite);
    expect_contains(fit.message, "the step, 1, may be longer");
    for (const double value : whole(fit.x)) EXPECT_TRUE(std::isfinite(value));

    // No step is short enough for an operator that is not linear.
    const auto far = function_operator<double>(
        problem.a.domain(), problem.a.domain(),
        [calls = 0](const auto&, const ArrayView<double>& y) mutable {
          y.fill(std::pow(4, ++calls));
        },
        [](const ConstArrayView<double>& y, const ArrayView<double>& x) { copy(y, x); });
    const auto lost = ista(far, array_of(problem.a.domain(), some_vector(4, 1)), {},
                           {.step = 1, .backtracking = true});
    EXPECT_EQ(lost.reason, StopReason::breakdown) << lost.message;
    expect_contains(lost.message, "not linear");
  });
}

}  // namespace weft::test
