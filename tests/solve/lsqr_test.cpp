#include <weft/core/error.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/zero.hpp>
#include <weft/op/matrix/matrix_mult.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/lsqr.hpp>

#include "solve/support/problems.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"

#include <limits>

namespace weft::test {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The diagonal of (AᵀA + damp²)⁻¹.
std::vector<double> inverse_diagonal(const RealMatrix& a, double damp) {
  // Column j of the inverse solves AᵀA x + damp² x = e_j. The shortest z with [Aᵀ damp] z = e_j is
  // A stacked on damp, applied to that x, so |z|² is entry j of the diagonal.
  RealMatrix wide(a.columns, a.rows + a.columns);
  for (index_t i = 0; i < a.columns; ++i) {
    for (index_t j = 0; j < a.rows; ++j) wide(i, j) = a(j, i);
    wide(i, a.rows + i) = damp;
  }
  std::vector<double> diagonal;
  for (index_t j = 0; j < a.columns; ++j) {
    std::vector<double> unit(static_cast<std::size_t>(a.columns));
    unit[static_cast<std::size_t>(j)] = 1;
    const double size = size_of_vector(least_squares(wide, unit));
    diagonal.push_back(size * size);
  }
  return diagonal;
}

double frobenius_norm(const RealMatrix& a) { return size_of_vector(a.values); }

}  // namespace

TEST(Lsqr, solves_overdetermined_systems) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      const Problem problem(comm, some_real_matrix(17, 6), device);
      const auto fit = lsqr(problem.a, problem.y, {.relative_tolerance = 1e-12});
      const std::vector<double> expected = least_squares(problem.matrix, problem.data);
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_contains(fit.message, "least squares to atol");
      EXPECT_LE(fit.iterations, 7);
      expect_near(fit.x, expected, 1e-10);
      const double residual =
          size_of_vector(plus(problem.data, -1, product(problem.matrix, expected)));
      EXPECT_NEAR(fit.residual_norm, residual, 1e-10 * residual);
      EXPECT_NEAR(fit.estimates.residual_norm, residual, 1e-10 * residual);
      EXPECT_NEAR(fit.estimates.x_norm, size_of_vector(expected), 1e-10);
      EXPECT_FALSE(fit.variance.has_value());
    }
  });
}

TEST(Lsqr, finds_the_shortest_solution_of_underdetermined_systems) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(5, 13));
    const auto fit = lsqr(problem.a, problem.y, {.relative_tolerance = 1e-13});
    EXPECT_EQ(fit.reason, StopReason::converged);
    expect_contains(fit.message, "A x = y to atol and btol");
    EXPECT_LE(fit.residual_norm, 1e-9);
    expect_near(fit.x, least_squares(problem.matrix, problem.data), 1e-10);

    // The solution closest to x0.
    const std::vector<double> x0 = some_vector(13, 3);
    const auto close = lsqr(problem.a, problem.y, {.relative_tolerance = 1e-13},
                            {.x0 = array_of(problem.a.domain(), x0)});
    const std::vector<double> rest = plus(problem.data, -1, product(problem.matrix, x0));
    expect_near(close.x, plus(x0, 1, least_squares(problem.matrix, rest)), 1e-10);
    EXPECT_NEAR(close.estimates.x_norm, size_of_vector(whole(close.x)), 1e-9);
  });
}

TEST(Lsqr, damps_x_from_any_x0) {
  on_ranks([](Comm comm) {
    for (const auto& [rows, columns] : {std::pair{15, 7}, std::pair{6, 11}}) {
      const Problem problem(comm, some_real_matrix(rows, columns));
      const double damp = 3.5;
      const std::vector<double> expected = least_squares(problem.matrix, problem.data, damp);
      for (const bool started : {false, true}) {
        LsqrOptions<double> options{.damp = damp};
        if (started) options.x0 = array_of(problem.a.domain(), some_vector(columns, 8));
        const auto fit = lsqr(problem.a, problem.y, {.relative_tolerance = 1e-12}, options);
        EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
        EXPECT_LE(fit.iterations, columns + 1);
        expect_near(fit.x, expected, 1e-10);

        const double residual =
            size_of_vector(plus(problem.data, -1, product(problem.matrix, expected)));
        const double x_norm = size_of_vector(expected);
        EXPECT_NEAR(fit.estimates.residual_norm, residual, 1e-9 * residual);
        EXPECT_NEAR(fit.estimates.damped_residual_norm, std::hypot(residual, damp * x_norm),
                    1e-9 * residual);
        EXPECT_NEAR(fit.estimates.x_norm, x_norm, 1e-9 * x_norm);
      }
    }
  });
}

TEST(Lsqr, iterates_match_cgls) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(20, 9));
    const SolverOptions options{.relative_tolerance = 0};
    for (const double damp : {0.0, 2.0}) {
      for (const bool started : {false, true}) {
        std::optional<DistributedArray<double>> x0;
        if (started) x0 = array_of(problem.a.domain(), some_vector(9, 4));
        Cgls other(problem.a, problem.y, options, {.damp = damp, .x0 = x0});
        Lsqr solver(problem.a, problem.y, options, {.damp = damp, .x0 = x0});
        for (int i = 0; i <= 6; ++i) {
          const SolverStatus& seen = solver.history().back();
          const SolverStatus& expected = other.history().back();
          EXPECT_NEAR(seen.residual_norm, expected.residual_norm, 1e-11 * expected.residual_norm);
          EXPECT_NEAR(seen.gradient_norm, expected.gradient_norm, 1e-9 * expected.gradient_norm);
          if (i > 0 || started) expect_near(solver.x(), whole(other.x()), 1e-11);
          EXPECT_TRUE(other.step());
          EXPECT_TRUE(solver.step());
        }
      }
    }
  });
}

TEST(Lsqr, residuals_decrease) {
  on_ranks([](Comm comm) {
    for (const double damp : {0.0, 2.0}) {
      for (const bool started : {false, true}) {
        const Problem problem(comm, some_real_matrix(25, 14));
        LsqrOptions<double> options{.damp = damp};
        if (started) options.x0 = array_of(problem.a.domain(), some_vector(14, 2));
        Lsqr solver(problem.a, problem.y, {.relative_tolerance = 1e-12}, options);
        double last = solver.estimates().damped_residual_norm;
        while (solver.step()) {
          EXPECT_LE(solver.estimates().damped_residual_norm, last * (1 + 10 * epsilon));
          last = solver.estimates().damped_residual_norm;
        }
        const auto history = solver.history();
        ASSERT_EQ(history.size(), static_cast<std::size_t>(solver.iteration() + 1));
        for (std::size_t i = 1; i < history.size() && !started; ++i) {
          EXPECT_LE(history[i].residual_norm, history[i - 1].residual_norm * (1 + 1e-11));
        }
      }
    }
  });
}

TEST(Lsqr, solves_ill_conditioned_systems) {
  on_ranks([](Comm comm) {
    const double condition = 1e6;
    const Problem problem(comm, matrix_of_condition(30, 20, condition));
    // The data have a short exact solution, so the error is about the condition number times that
    // of the data.
    const std::vector<double> x = some_vector(20, 9);
    const auto y = array_of(problem.a.range(), product(problem.matrix, x));
    const auto fit = lsqr(problem.a, y, {.max_iterations = 1000, .relative_tolerance = 1e-15},
                          {.condition_limit = infinity});
    EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
    EXPECT_GE(fit.estimates.condition, condition);
    expect_near(fit.x, x, 1e3 * condition * epsilon);

    const auto limited = lsqr(problem.a, y, {.max_iterations = 1000, .relative_tolerance = 1e-15},
                              {.condition_limit = 1e3});
    EXPECT_EQ(limited.reason, StopReason::condition_limit);
    EXPECT_LT(limited.iterations, fit.iterations);
  });
}

TEST(Lsqr, variances_are_the_diagonal_of_the_inverse) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      const Problem problem(comm, some_real_matrix(19, 6), device);
      for (const double damp : {0.0, 4.0}) {
        for (const bool started : {false, true}) {
          LsqrOptions<double> options{.damp = damp, .variance = true};
          if (started) options.x0 = array_of(problem.a.domain(), some_vector(6, 8));
          Lsqr solver(problem.a, problem.y, {.relative_tolerance = 0}, options);
          std::vector<double> last(6);
          for (int i = 0; i < 6; ++i) {
            solver.step();
            const std::vector<double> now = whole(solver.variance());
            for (std::size_t j = 0; j < 6; ++j) EXPECT_GE(now[j], last[j]);
            last = now;
          }
          expect_near(solver.variance(), inverse_diagonal(problem.matrix, damp), 1e-9);
        }
      }
    }
  });
}

TEST(Lsqr, variances_of_complex_solutions_are_real) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    const Layout domain = Layout::scatter(comm, {4});
    const Layout range = Layout::scatter(comm, {11});
    const auto a = some_operator<T>(domain, range, 3);
    const auto fit = lsqr(a, make_array<T>(range, 1), {.relative_tolerance = 1e-13},
                          {.damp = 1, .variance = true});
    // The real and the imaginary part have the same variance in the real matrix.
    const auto parts = inverse_diagonal(real_matrix(some_matrix<T, T>(11, 4, 3)), 1);
    std::vector<double> expected;
    for (std::size_t i = 0; i < parts.size(); i += 2) expected.push_back(parts[i]);
    ASSERT_TRUE(fit.variance.has_value());
    expect_near(*fit.variance, expected, 1e-9);
  });
}

TEST(Lsqr, estimates_norm_and_condition) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(20, 8));
    const auto fit = lsqr(problem.a, problem.y, {.relative_tolerance = 1e-13});
    // After as many iterations as unknowns, the bidiagonalisation of A is complete.
    EXPECT_EQ(fit.iterations, 8);
    const double a_norm = frobenius_norm(problem.matrix);
    double inverse = 0;
    for (const double value : inverse_diagonal(problem.matrix, 0)) inverse += value;
    EXPECT_NEAR(fit.estimates.a_norm, a_norm, 1e-9 * a_norm);
    EXPECT_NEAR(fit.estimates.condition, a_norm * std::sqrt(inverse), 1e-6 * a_norm);
  });
}

TEST(Lsqr, reports_why_it_stops) {
  on_ranks([](Comm comm) {
    const Problem tall(comm, some_real_matrix(9, 4));
    const Problem square(comm, matrix_of_condition(12, 12, 10));
    const SolverOptions options{.max_iterations = 500, .relative_tolerance = 0};
    const auto expect_stop = [](const auto& fit, StopReason reason, const std::string& words) {
      EXPECT_EQ(fit.reason, reason) << fit.message;
      expect_contains(fit.message, words);
    };
    const StopReason converged = StopReason::converged;
    const DistributedArray<double> nothing(tall.a.range());
    const auto zero_operator = zero<double>(tall.a.domain(), tall.a.range());

    expect_stop(lsqr(tall.a, nothing), converged, "x = 0 is the solution");
    expect_stop(lsqr(zero_operator, tall.y), converged, "x = 0 is the solution");
    const auto from_solution =
        lsqr(zero_operator, nothing, {}, {.x0 = array_of(tall.a.domain(), some_vector(4))});
    expect_stop(from_solution, converged, "x0 is the solution");
    EXPECT_NEAR(from_solution.estimates.x_norm, size_of_vector(some_vector(4)), 1e-12);
    expect_stop(lsqr(square.a, square.y), converged, "A x = y to atol and btol");
    expect_stop(lsqr(tall.a, tall.y), converged, "least squares to atol");
    expect_stop(lsqr(tall.a, tall.y, {.relative_tolerance = 0, .absolute_tolerance = 1e-6}),
                converged, "absolute_tolerance");
    expect_stop(lsqr(square.a, square.y, options, {.condition_limit = 5}),
                StopReason::condition_limit, "cond(A) exceeds condition_limit");
    expect_stop(lsqr(square.a, square.y, options), converged, "A x = y to machine precision");
    expect_stop(lsqr(tall.a, tall.y, options), converged, "least squares to machine precision");
    expect_stop(lsqr(square.a, square.y, {.max_iterations = 3}), StopReason::iteration_limit,
                "3 iterations");

    // Singular values of 1 and of about 1e-16. By the sixth iteration, the first with a check, the
    // small ones have been found, but neither the gradient nor the residual is small.
    const auto hopeless = diagonal_of(Layout::replicated(comm, {10}), [](double i) {
      return i == 0 ? 1.0 : i == 1 ? 0.0 : 1e-16 * (1 + (i - 2) / 8);
    });
    DistributedArray<double> y(hopeless.range());
    y.fill([](const Index& at) { return at[0] < 2 ? 1.0 : 0.003; });
    expect_stop(lsqr(hopeless, y, {.relative_tolerance = 0, .check_every = 6},
                     {.condition_limit = infinity}),
                StopReason::condition_limit, "cond(A) exceeds machine precision");
  });
}

TEST(Lsqr, takes_common_or_separate_tolerances) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, matrix_of_condition(20, 20, 100));
    const auto rough = lsqr(problem.a, problem.y, {.relative_tolerance = 1e-3});
    const auto same = lsqr(problem.a, problem.y, {}, {.atol = 1e-3, .btol = 1e-3});
    const auto exact =
        lsqr(problem.a, problem.y, {.relative_tolerance = 1e-3}, {.atol = 1e-9, .btol = 1e-9});
    EXPECT_EQ(rough.iterations, same.iterations);
    EXPECT_LT(rough.iterations, exact.iterations);
    const double y_norm = size_of_vector(problem.data);
    const auto by_btol = lsqr(problem.a, problem.y, {}, {.atol = 0, .btol = 1e-4});
    EXPECT_LE(by_btol.residual_norm, 1e-4 * y_norm * (1 + 1e-6));
    EXPECT_GT(by_btol.history[by_btol.history.size() - 2].residual_norm, 1e-4 * y_norm);
  });
}

TEST(Lsqr, stops_at_once_at_the_solution) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const std::vector<double> solution = least_squares(problem.matrix, problem.data);
    const auto from_solution =
        lsqr(problem.a, problem.y, {}, {.x0 = array_of(problem.a.domain(), solution)});
    EXPECT_EQ(from_solution.reason, StopReason::converged);
    EXPECT_EQ(from_solution.iterations, 0);
    expect_near(from_solution.x, solution, 0);

    // With y = 0, tolerances are relative to the first residual.
    const auto to_zero = lsqr(problem.a, DistributedArray<double>(problem.a.range()), {},
                              {.x0 = array_of(problem.a.domain(), solution)});
    EXPECT_EQ(to_zero.reason, StopReason::converged) << to_zero.message;
    EXPECT_LE(size_of_vector(whole(to_zero.x)), 1e-6);

    const Layout empty = Layout::scatter(comm, {0});
    EXPECT_EQ(lsqr(identity<double>(empty), DistributedArray<double>(empty)).reason,
              StopReason::converged);
  });
}

TEST(Lsqr, stops_at_exact_convergence) {
  on_ranks([](Comm comm) {
    // The first iteration solves the problem exactly, long before the first check.
    const Layout line = Layout::scatter(comm, {12});
    DistributedArray<double> y(line);
    y.fill(3.0);
    for (const double damp : {0.0, 1.0}) {
      const auto fit = lsqr(2.0 * identity<double>(line), y, {.check_every = 7}, {.damp = damp});
      EXPECT_EQ(fit.reason, StopReason::converged);
      EXPECT_EQ(fit.iterations, 7);
      expect_near(fit.x, std::vector<double>(12, 6 / (4 + damp * damp)), 1e-15);
    }
  });
}

TEST(Lsqr, two_collectives_per_iteration) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t several = comm.size() > 1 ? 1 : 0;
    const auto calls = [&](const LinearOperator<double>& a, const SolverOptions& options,
                           const LsqrOptions<double>& lsqr_options = {}) {
      Lsqr solver(a, make_array<double>(a.range(), 2), options, lsqr_options);
      return calls_per_iteration(comm, solver);
    };
    const auto a = slow_operator(Layout::scatter(comm, {40}));
    const auto x0 = make_array<double>(a.domain(), 5);
    EXPECT_EQ(calls(a, {}), 2 * several);
    EXPECT_EQ(calls(a, {}, {.damp = 0.1, .variance = true}), 2 * several);
    EXPECT_EQ(calls(a, {}, {.damp = 0.1, .x0 = x0}), 2 * several);
    EXPECT_EQ(calls(a, {.check_every = 3}), 2 * several);
    EXPECT_EQ(calls(slow_operator(Layout::replicated(comm, {40})), {}), 0);
    // With a replicated model, its sums need no message, but the adjoint does.
    const auto rows = matrix_mult(make_array<double>(Layout::scatter(comm, {30, 20})));
    EXPECT_EQ(calls(rows, {}), 2 * several);
  });
}

TEST(Lsqr, iterations_do_not_allocate) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const Device device : {Device::cpu(), other_device()}) {
      const Layout line = Layout::scatter(comm, {400}).on(device);
      const auto a = first_derivative<double>(line);
      Lsqr solver(a, make_array<double>(line),
                  {.max_iterations = 1000,
                   .relative_tolerance = 0,
                   .callback = [](const SolverStatus&) { return true; }},
                  {.damp = 1e-3, .x0 = make_array<double>(line, 1), .variance = true});
      expect_no_allocation(comm, [&] { solver.step(); });
      EXPECT_EQ(solver.iteration(), 102);
    }
  });
}

TEST(Lsqr, keeps_x_when_an_operator_fails) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(11, 5));
    // x keeps its value from before the failure.
    for (const bool in_adjoint : {false, true}) {
      for (const index_t check_every : {1, 5}) {
        const auto failing =
            failing_operator(problem.a, 2, in_adjoint ? FailsIn::adjoint : FailsIn::forward);
        Lsqr solver(failing, problem.y, {.check_every = check_every});
        solver.run();
        EXPECT_EQ(solver.stop_reason(), StopReason::not_finite);
        expect_contains(solver.message(), fmt::format("iteration {}", check_every == 1 ? 3 : 5));
        expect_contains(solver.message(), in_adjoint ? "alpha" : "beta");
        const auto expected = lsqr(problem.a, problem.y, {.max_iterations = in_adjoint ? 3 : 2});
        expect_near(solver.x(), whole(expected.x), 1e-14);
      }
    }
  });
}

TEST(Lsqr, rejects_invalid_options) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto& a = problem.a;
    const auto& y = problem.y;
    const auto refused = [&](const std::vector<std::string>& words,
                             const std::function<void()>& call) {
      expect_error<ArgumentError>(comm, words, call);
    };
    refused({"atol = -0.5"}, [&] { lsqr(a, y, {}, {.atol = -0.5}); });
    refused({"btol = nan"}, [&] { lsqr(a, y, {}, {.btol = std::nan("")}); });
    refused({"condition_limit = 0"}, [&] { lsqr(a, y, {}, {.condition_limit = 0}); });
    refused({"LsqrOptions::variance"}, [&] { static_cast<void>(Lsqr(a, y).variance()); });
  });
}

}  // namespace weft::test
