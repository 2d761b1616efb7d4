#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/matrix/matrix_mult.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/solve/cgls.hpp>

#include "solve/support/problems.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"

#include <limits>

namespace weft::test {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// Iterates 1 to n of the textbook recurrence, on one rank.
std::vector<std::vector<double>> textbook_cgls(const RealMatrix& a, const std::vector<double>& y,
                                               double damp, std::vector<double> x, int n) {
  const RealMatrix transpose = transposed(a);
  const auto square = [](const std::vector<double>& v) {
    return size_of_vector(v) * size_of_vector(v);
  };
  std::vector<double> r = plus(y, -1, product(a, x));
  std::vector<double> s = plus(product(transpose, r), -damp * damp, x);
  std::vector<double> p = s;
  std::vector<std::vector<double>> iterates;
  for (int k = 0; k < n; ++k) {
    const std::vector<double> q = product(a, p);
    const double alpha = square(s) / (square(q) + damp * damp * square(p));
    x = plus(x, alpha, p);
    r = plus(r, -alpha, q);
    const std::vector<double> next = plus(product(transpose, r), -damp * damp, x);
    p = plus(next, square(next) / square(s), p);
    s = next;
    iterates.push_back(x);
  }
  return iterates;
}

}  // namespace

TEST(Cgls, solves_overdetermined_systems) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      const Problem problem(comm, some_real_matrix(17, 6), device);
      const auto fit = cgls(problem.a, problem.y, {.relative_tolerance = 1e-12});
      const std::vector<double> expected = least_squares(problem.matrix, problem.data);
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      EXPECT_LE(fit.iterations, 7);
      expect_near(fit.x, expected, 1e-10);
      const double residual =
          size_of_vector(plus(problem.data, -1, product(problem.matrix, expected)));
      EXPECT_NEAR(fit.residual_norm, residual, 1e-10 * residual);
    }
  });
}

TEST(Cgls, finds_the_shortest_solution_of_underdetermined_systems) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(5, 13));
    const auto fit = cgls(problem.a, problem.y, {.relative_tolerance = 1e-13});
    EXPECT_EQ(fit.reason, StopReason::converged);
    EXPECT_LE(fit.residual_norm, 1e-9);
    expect_near(fit.x, least_squares(problem.matrix, problem.data), 1e-10);

    // The solution closest to x0.
    const std::vector<double> x0 = some_vector(13, 3);
    const auto close = cgls(problem.a, problem.y, {.relative_tolerance = 1e-13},
                            {.x0 = array_of(problem.a.domain(), x0)});
    const std::vector<double> rest = plus(problem.data, -1, product(problem.matrix, x0));
    expect_near(close.x, plus(x0, 1, least_squares(problem.matrix, rest)), 1e-10);
  });
}

TEST(Cgls, damps_x_from_any_x0) {
  on_ranks([](Comm comm) {
    for (const auto& [rows, columns] : {std::pair{15, 7}, std::pair{6, 11}}) {
      const Problem problem(comm, some_real_matrix(rows, columns));
      const double damp = 3.5;
      const std::vector<double> expected = least_squares(problem.matrix, problem.data, damp);
      for (const bool started : {false, true}) {
        for (const bool preconditioned : {false, true}) {
          CglsOptions<double> options{.damp = damp};
          if (started) options.x0 = array_of(problem.a.domain(), some_vector(columns, 8));
          if (preconditioned) options.preconditioner = slow_operator(problem.a.domain());
          const auto fit = cgls(problem.a, problem.y, {.relative_tolerance = 1e-12}, options);
          EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
          // A wrong gradient at x0 would take more iterations. This preconditioner does not save
          // any.
          EXPECT_LE(fit.iterations, (preconditioned ? 2 : 1) * columns + 1);
          expect_near(fit.x, expected, 1e-10);
        }
      }
    }
  });
}

TEST(Cgls, iterates_match_the_textbook) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(20, 9));
    const std::vector<double> x0 = some_vector(9, 4);
    for (const double damp : {0.0, 2.0}) {
      Cgls solver(problem.a, problem.y, {.relative_tolerance = 0},
                  {.damp = damp, .x0 = array_of(problem.a.domain(), x0)});
      for (const auto& expected : textbook_cgls(problem.matrix, problem.data, damp, x0, 6)) {
        EXPECT_TRUE(solver.step());
        expect_near(solver.x(), expected, 1e-12);
      }
    }
  });
}

TEST(Cgls, takes_at_most_as_many_iterations_as_unknowns_with_decreasing_residuals) {
  on_ranks([](Comm comm) {
    for (index_t unknowns = 1; unknowns <= 6; ++unknowns) {
      const Problem problem(comm, some_real_matrix(12, unknowns));
      const auto fit = cgls(problem.a, problem.y, {.relative_tolerance = 1e-11});
      EXPECT_EQ(fit.reason, StopReason::converged);
      EXPECT_LE(fit.iterations, unknowns);
      ASSERT_EQ(fit.history.size(), static_cast<std::size_t>(fit.iterations + 1));
      for (std::size_t i = 1; i < fit.history.size(); ++i) {
        EXPECT_EQ(fit.history[i].iteration, static_cast<index_t>(i));
        EXPECT_LE(fit.history[i].residual_norm,
                  fit.history[i - 1].residual_norm * (1 + 10 * epsilon));
      }
    }
  });
}

TEST(Cgls, the_objective_decreases) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, matrix_of_condition(25, 14, 50));
    for (const double damp : {0.0, 0.3}) {
      for (const bool started : {false, true}) {
        CglsOptions<double> options{.damp = damp};
        if (started) options.x0 = array_of(problem.a.domain(), some_vector(14, 2));
        Cgls solver(problem.a, problem.y, {.relative_tolerance = 1e-12}, options);
        const auto objective = [&] {
          return std::hypot(solver.history().back().residual_norm,
                            damp * size_of_vector(whole(solver.x())));
        };
        double last = objective();
        while (solver.step()) {
          EXPECT_LE(objective(), last * (1 + 10 * epsilon));
          last = objective();
        }
        EXPECT_EQ(solver.stop_reason(), StopReason::converged) << solver.message();
      }
    }
  });
}

TEST(Cgls, errors_of_ill_conditioned_systems_are_bounded_by_the_gradient) {
  // |x - x*| <= |g| / smin², where smin is the smallest singular value. The gradient g has rounding
  // errors of about epsilon times |A|² |x|.
  on_ranks([](Comm comm) {
    const double condition = 1e4;
    const Problem problem(comm, matrix_of_condition(30, 20, condition));
    const auto fit =
        cgls(problem.a, problem.y, {.max_iterations = 400, .relative_tolerance = 1e-13});
    EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
    const std::vector<double> expected = least_squares(problem.matrix, problem.data);
    const double smallest = 1 / condition;
    const double bound =
        (fit.gradient_norm + 100 * epsilon * size_of_vector(expected)) / (smallest * smallest);
    const double error = size_of_vector(plus(whole(fit.x), -1, expected));
    EXPECT_LE(error, bound);
    EXPECT_LE(bound, 1e-3 * size_of_vector(expected));
  });
}

TEST(Cgls, a_preconditioner_saves_iterations) {
  on_ranks([](Comm comm) {
    const index_t n = 24;
    RealMatrix matrix = some_orthonormal(40, n);
    std::vector<double> squares;
    for (index_t j = 0; j < n; ++j) {
      const double scale = std::pow(10, static_cast<double>(j % 5) - 2);
      for (index_t i = 0; i < matrix.rows; ++i) matrix(i, j) *= scale;
      squares.push_back(1 / (scale * scale));
    }
    for (const double damp : {0.0, 1e-3}) {
      const Problem problem(comm, matrix);
      const auto m = diagonal(array_of(problem.a.domain(), squares));
      const SolverOptions options{.max_iterations = 200, .relative_tolerance = 1e-13};
      const auto plain = cgls(problem.a, problem.y, options, {.damp = damp});
      const auto fit = cgls(problem.a, problem.y, options, {.damp = damp, .preconditioner = m});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      EXPECT_LE(fit.iterations, 4);
      EXPECT_GT(plain.iterations, fit.iterations);
      expect_near(fit.x, least_squares(matrix, problem.data, damp), 1e-8);
    }
  });
}

TEST(Cgls, two_collectives_per_iteration) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t several = comm.size() > 1 ? 1 : 0;
    const auto calls = [&](const LinearOperator<double>& a, const SolverOptions& options,
                           const CglsOptions<double>& cgls_options = {}) {
      Cgls solver(a, make_array<double>(a.range(), 2), options, cgls_options);
      return calls_per_iteration(comm, solver);
    };
    const auto a = slow_operator(Layout::scatter(comm, {40}));
    const auto m = identity<double>(a.domain());
    EXPECT_EQ(calls(a, {}), 2 * several);
    EXPECT_EQ(calls(a, {}, {.damp = 0.1}), 2 * several);
    EXPECT_EQ(calls(a, {}, {.damp = 0.1, .preconditioner = m}), 2 * several);
    EXPECT_EQ(calls(a, {.check_every = 3}), 2 * several);
    EXPECT_EQ(calls(a, {.callback = [](const SolverStatus&) { return true; }}), 3 * several);
    EXPECT_EQ(calls(slow_operator(Layout::replicated(comm, {40})), {}), 0);
    // With a replicated model, its sums need no message, but the adjoint does.
    const auto rows = matrix_mult(make_array<double>(Layout::scatter(comm, {30, 20})));
    EXPECT_EQ(calls(rows, {}), 3 * several);
  });
}

TEST(Cgls, iterations_do_not_allocate) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const Device device : {Device::cpu(), other_device()}) {
      const Layout line = Layout::scatter(comm, {400}).on(device);
      const auto a = first_derivative<double>(line);
      Cgls solver(a, make_array<double>(line),
                  {.max_iterations = 1000,
                   .relative_tolerance = 0,
                   .callback = [](const SolverStatus&) { return true; }},
                  {.damp = 1e-3, .preconditioner = identity<double>(line)});
      expect_no_allocation(comm, [&] { solver.step(); });
      EXPECT_EQ(solver.iteration(), 102);
    }
  });
}

TEST(Cgls, stops_at_once_at_the_solution) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto nothing = cgls(problem.a, DistributedArray<double>(problem.a.range()));
    EXPECT_EQ(nothing.reason, StopReason::converged);
    EXPECT_EQ(nothing.iterations, 0);
    EXPECT_EQ(nothing.residual_norm, 0);
    expect_near(nothing.x, std::vector<double>(4), 0);

    const std::vector<double> solution = least_squares(problem.matrix, problem.data);
    const auto from_solution =
        cgls(problem.a, problem.y, {}, {.x0 = array_of(problem.a.domain(), solution)});
    EXPECT_EQ(from_solution.reason, StopReason::converged);
    EXPECT_EQ(from_solution.iterations, 0);

    // With y = 0, tolerances are relative to the first gradient.
    const auto to_zero = cgls(problem.a, DistributedArray<double>(problem.a.range()), {},
                              {.x0 = array_of(problem.a.domain(), solution)});
    EXPECT_EQ(to_zero.reason, StopReason::converged);
    EXPECT_LE(size_of_vector(whole(to_zero.x)), 1e-6);

    const Layout empty = Layout::scatter(comm, {0});
    EXPECT_EQ(cgls(identity<double>(empty), DistributedArray<double>(empty)).reason,
              StopReason::converged);
  });
}

TEST(Cgls, keeps_x_when_an_operator_fails) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(11, 5));
    // x keeps its value from before the failure.
    for (const index_t check_every : {1, 5}) {
      const auto failing = failing_operator(problem.a, 2);
      Cgls solver(failing, problem.y, {.check_every = check_every});
      solver.run();
      EXPECT_EQ(solver.stop_reason(), StopReason::not_finite);
      expect_contains(solver.message(), fmt::format("iteration {}", check_every == 1 ? 3 : 5));
      const std::vector<double> zero(5);
      expect_near(solver.x(), textbook_cgls(problem.matrix, problem.data, 0, zero, 2).back(),
                  1e-12);
    }
  });
}

TEST(Cgls, detects_wrong_operators) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {8});
    const auto copies = [](const ConstArrayView<double>& x, const ArrayView<double>& y) {
      copy(x, y);
    };
    const auto a = function_operator<double>(
        line, line, [](const auto&, const ArrayView<double>& y) { y.fill(0); }, copies);
    const auto fit = cgls(a, make_array<double>(line));
    EXPECT_EQ(fit.reason, StopReason::breakdown);
    expect_contains(fit.message, "dot_test");
    expect_contains(fit.message, "iteration 1");

    const auto negative = cgls(identity<double>(line), make_array<double>(line), {},
                               {.preconditioner = -identity<double>(line)});
    EXPECT_EQ(negative.reason, StopReason::breakdown);
    expect_contains(negative.message, "preconditioner");
  });
}

TEST(Cgls, rejects_a_mismatched_preconditioner) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto other = identity<double>(Layout::scatter(comm, {5}));
    expect_error<ArgumentError>(comm, {"cgls", "preconditioner"},
                                [&] { cgls(problem.a, problem.y, {}, {.preconditioner = other}); });
  });
}

TEST(Cgls, takes_views_as_data_and_as_start) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto& a = problem.a;
    const auto x0 = array_of(a.domain(), some_vector(4, 2));
    const auto expected = cgls(a, problem.y, {}, {.x0 = x0}).x.to_host();
    DistributedArray<double> stack(Layout::stack({a.range(), a.domain()}));
    copy(problem.y, stack.part(0));
    copy(x0, stack.part(1));
    const DistributedArray<double>& constant = stack;
    EXPECT_EQ(cgls(a, stack.part(0), {}, {.x0 = stack.part(1)}).x.to_host(), expected);
    Cgls borrows(a, constant.part(0), {}, {.x0 = constant.part(1)});
    DistributedArray<double> y = problem.y;
    Cgls copies(a, y, {}, {.x0 = x0});
    Cgls moves(a, problem.y.copy(), {}, {.x0 = x0.copy()});
    y.fill(0);
    for (Cgls<double, double>* solver : {&borrows, &copies, &moves}) {
      solver->run();
      const auto fit = solver->solution();
      EXPECT_EQ(fit.x.to_host(), expected);
      EXPECT_NEAR(fit.residual_norm, norm(problem.y - a * fit.x), 1e-12);
    }
  });
}

}  // namespace weft::test
