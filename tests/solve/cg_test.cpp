#include <weft/array/arithmetic.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/op/stencil/laplacian.hpp>
#include <weft/solve/cg.hpp>

#include "solve/support/problems.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"

#include <limits>

namespace weft::test {
namespace {

/// Positive definite, with eigenvalues from 1 to 1 / condition.
RealMatrix positive_matrix(index_t n, double condition) {
  RealMatrix matrix = matrix_of_condition(n, n, std::sqrt(condition));
  return product(matrix, transposed(matrix));
}

/// Iterates 1 to n of the textbook recurrence, on one rank.
std::vector<std::vector<double>> textbook_cg(const RealMatrix& a, const std::vector<double>& y,
                                             std::vector<double> x, int n) {
  const auto dot = [](const std::vector<double>& u, const std::vector<double>& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  };
  std::vector<double> r = plus(y, -1, product(a, x));
  std::vector<double> p = r;
  std::vector<std::vector<double>> iterates;
  for (int k = 0; k < n; ++k) {
    const std::vector<double> q = product(a, p);
    const double alpha = dot(r, r) / dot(p, q);
    x = plus(x, alpha, p);
    const std::vector<double> next = plus(r, -alpha, q);
    p = plus(next, dot(next, next) / dot(r, r), p);
    r = next;
    iterates.push_back(x);
  }
  return iterates;
}

/// Calls f for both variants.
void for_variants(const std::function<void(bool single_reduction)>& f) {
  for (const bool single_reduction : {false, true}) {
    SCOPED_TRACE(single_reduction ? "single reduction" : "two reductions");
    f(single_reduction);
  }
}

}  // namespace

TEST(Cg, solves_positive_definite_systems) {
  on_ranks([](Comm comm) {
    for_variants([&](bool single) {
      for (const Device device : {Device::cpu(), other_device()}) {
        const Problem problem(comm, positive_matrix(11, 100), device);
        const auto x0 = array_of(problem.a.domain(), some_vector(11, 7));
        const std::vector<double> expected = least_squares(problem.matrix, problem.data);
        for (const bool started : {false, true}) {
          CgOptions<double> options{.single_reduction = single};
          if (started) options.x0 = x0;
          const auto fit = cg(problem.a, problem.y, {.relative_tolerance = 1e-12}, options);
          EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
          expect_near(fit.x, expected, 1e-9);
          EXPECT_LE(fit.residual_norm, 2e-12 * size_of_vector(problem.data));
          EXPECT_EQ(fit.gradient_norm, fit.residual_norm);
        }
      }
    });
  });
}

TEST(Cg, iterates_match_the_textbook) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, positive_matrix(14, 30));
    const std::vector<double> x0 = some_vector(14, 4);
    for_variants([&](bool single) {
      Cg solver(problem.a, problem.y, {.relative_tolerance = 0},
                {.x0 = array_of(problem.a.domain(), x0), .single_reduction = single});
      for (const auto& expected : textbook_cg(problem.matrix, problem.data, x0, 7)) {
        EXPECT_TRUE(solver.step());
        expect_near(solver.x(), expected, 1e-11);
      }
    });
  });
}

TEST(Cg, errors_decrease) {
  // In the norm of A, and in the Euclidean norm, as Hestenes and Stiefel showed.
  on_ranks([](Comm comm) {
    const Problem problem(comm, positive_matrix(14, 200));
    const std::vector<double> solution = least_squares(problem.matrix, problem.data);
    const auto errors = [&](const ConstArrayView<double>& x) {
      const std::vector<double> error = plus(whole(x), -1, solution);
      const std::vector<double> image = product(problem.matrix, error);
      double square = 0;
      for (std::size_t i = 0; i < error.size(); ++i) square += error[i] * image[i];
      return std::pair(std::sqrt(square), size_of_vector(error));
    };
    for_variants([&](bool single) {
      Cg solver(problem.a, problem.y, {.relative_tolerance = 1e-6}, {.single_reduction = single});
      auto last = errors(solver.x());
      do {
        solver.step();
        const auto now = errors(solver.x());
        EXPECT_LT(now.first, last.first);
        EXPECT_LT(now.second, last.second);
        last = now;
      } while (solver.stop_reason() == StopReason::running);
      EXPECT_EQ(solver.stop_reason(), StopReason::converged) << solver.message();
    });
  });
}

TEST(Cg, takes_at_most_as_many_iterations_as_unknowns) {
  on_ranks([](Comm comm) {
    for_variants([&](bool single) {
      for (index_t n = 2; n <= 6; ++n) {
        const Problem problem(comm, positive_matrix(n, 10));
        const auto fit =
            cg(problem.a, problem.y, {.relative_tolerance = 1e-11}, {.single_reduction = single});
        EXPECT_EQ(fit.reason, StopReason::converged);
        EXPECT_LE(fit.iterations, n);
      }
    });
  });
}

TEST(Cg, errors_of_ill_conditioned_systems_are_bounded_by_the_residual) {
  // |x - x*| <= |r| / lmin, where lmin is the smallest eigenvalue. The residual and the matrix have
  // rounding errors of about epsilon times |A| |x|.
  on_ranks([](Comm comm) {
    const double condition = 1e6;
    const Problem problem(comm, positive_matrix(20, condition));
    const std::vector<double> expected = least_squares(problem.matrix, problem.data);
    for_variants([&](bool single) {
      const auto fit = cg(problem.a, problem.y, {.max_iterations = 400, .relative_tolerance = 1e-9},
                          {.single_reduction = single});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      const double rounding = 100 * std::numeric_limits<double>::epsilon();
      const double bound = (fit.residual_norm + rounding * size_of_vector(expected)) * condition;
      EXPECT_LE(size_of_vector(plus(whole(fit.x), -1, expected)), bound);
      EXPECT_LE(bound, 0.01 * size_of_vector(expected));
    });
  });
}

TEST(Cg, a_preconditioner_saves_iterations) {
  on_ranks([](Comm comm) {
    const index_t n = 30;
    RealMatrix matrix = positive_matrix(n, 4);
    std::vector<double> inverse;
    for (index_t j = 0; j < n; ++j) {
      const double scale = std::pow(10, static_cast<double>(j % 5) - 2);
      for (index_t i = 0; i < n; ++i) {
        matrix(i, j) *= scale;
        matrix(j, i) *= scale;
      }
      inverse.push_back(1 / (scale * scale));
    }
    const Problem problem(comm, matrix);
    const auto m = diagonal(array_of(problem.a.domain(), inverse));
    for_variants([&](bool single) {
      const SolverOptions options{.max_iterations = 500, .relative_tolerance = 1e-13};
      const auto plain = cg(problem.a, problem.y, options, {.single_reduction = single});
      const auto fit =
          cg(problem.a, problem.y, options, {.preconditioner = m, .single_reduction = single});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      EXPECT_LT(2 * fit.iterations, plain.iterations);
      // The scaled system has a condition number of 4, and the scales span four decades.
      expect_near(fit.x, least_squares(matrix, problem.data), 1e-6);
    });
  });
}

TEST(Cg, all_scalars_and_layouts) {
  on_ranks([](Comm comm) {
    const auto solve = [&]<Scalar T>(T, const Layout& layout) {
      SCOPED_TRACE(to_string(layout));
      // BᴴB + 1
      const index_t n = layout.count();
      const Layout rows = Layout::scatter(layout.comm(), {n + 3}).on(layout.device());
      const auto b = some_operator<T>(layout, rows, 2);
      const auto a = b.normal() + identity<T>(layout);
      const RealMatrix matrix = real_matrix(some_matrix<T, T>(n + 3, n, 2));
      RealMatrix normal = product(transposed(matrix), matrix);
      for (index_t i = 0; i < normal.rows; ++i) normal(i, i) += 1;
      const bool single = std::same_as<Real<T>, float>;
      const auto expected = least_squares(normal, parts_of(global_values<T>(layout, 6)));
      for_variants([&](bool single_reduction) {
        const auto fit =
            cg(a, make_array<T>(layout, 6), {.relative_tolerance = single ? 1e-6 : 1e-12},
               {.single_reduction = single_reduction});
        EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
        expect_near(fit.x, expected, single ? 1e-3 : 1e-8);
      });
    };
    for_each_scalar([&](auto scalar) { solve(scalar, Layout::scatter(comm, {5})); });
    for_operator_layouts<std::complex<float>>(
        comm, {3, 2}, [&](const Layout& layout) { solve(std::complex<double>{}, layout); });
    const Layout cut = Layout::scatter(comm, {3});
    const Layout copies = Layout::replicated(comm, {2});
    const Layout groups = Layout::scatter(comm, {2}).within(even_and_odd(comm.size()));
    const Layout mixed = Layout::stack({copies, cut, groups, Layout::stack({cut, copies})});
    solve(double{}, mixed);
    solve(double{}, mixed.on(other_device()));
  });
}

TEST(Cg, solves_the_poisson_equation) {
  on_ranks([](Comm comm) {
    const Layout grid = Layout::bricks(comm, {24, 20});
    const auto a = identity<double>(grid) - laplacian<double>(grid, {.axes = {0, 1}, .edge = true});
    DistributedArray<double> x(grid);
    x.fill([](const Index& at) {
      return std::sin(0.3 * static_cast<double>(at[0])) *
             std::cos(0.2 * static_cast<double>(at[1]));
    });
    const auto y = a * x;
    for_variants([&](bool single) {
      const auto fit =
          cg(adjoint(a) * a, adjoint(a) * y, {.max_iterations = 500, .relative_tolerance = 1e-12},
             {.single_reduction = single});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, x.all_gather(), 1e-7);
    });
  });
}

TEST(Cg, one_or_two_collectives_per_iteration) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto calls = [&](const Layout& layout, const CgOptions<double>& options) {
      Cg solver(slow_operator(layout), make_array<double>(layout, 2), {}, options);
      return calls_per_iteration(comm, solver);
    };
    const index_t several = comm.size() > 1 ? 1 : 0;
    const Layout cut = Layout::scatter(comm, {40});
    const auto m = identity<double>(cut);
    EXPECT_EQ(calls(cut, {}), 2 * several);
    EXPECT_EQ(calls(cut, {.preconditioner = m}), 2 * several);
    EXPECT_EQ(calls(cut, {.single_reduction = true}), several);
    EXPECT_EQ(calls(cut, {.preconditioner = m, .single_reduction = true}), several);
    EXPECT_EQ(calls(Layout::replicated(comm, {40}), {}), 0);
  });
}

TEST(Cg, iterations_do_not_allocate) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for_variants([&](bool single) {
      for (const Device device : {Device::cpu(), other_device()}) {
        const Layout line = Layout::scatter(comm, {400}).on(device);
        const auto d = first_derivative<double>(line);
        const auto a = d.normal() + 1e-6 * identity<double>(line);
        Cg solver(a, make_array<double>(line), {.max_iterations = 1000, .relative_tolerance = 0},
                  {.preconditioner = identity<double>(line), .single_reduction = single});
        expect_no_allocation(comm, [&] { solver.step(); });
        EXPECT_EQ(solver.iteration(), 102);
      }
    });
  });
}

TEST(Cg, stops_at_once_at_the_solution) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, positive_matrix(6, 10));
    const std::vector<double> solution = least_squares(problem.matrix, problem.data);
    const auto x0 = array_of(problem.a.domain(), solution);
    const DistributedArray<double> zero(problem.a.domain());
    for_variants([&](bool single) {
      const auto nothing = cg(problem.a, zero, {}, {.single_reduction = single});
      EXPECT_EQ(nothing.reason, StopReason::converged);
      EXPECT_EQ(nothing.iterations, 0);
      const auto from_solution =
          cg(problem.a, problem.y, {}, {.x0 = x0, .single_reduction = single});
      EXPECT_EQ(from_solution.reason, StopReason::converged);
      EXPECT_EQ(from_solution.iterations, 0);
      // With y = 0, tolerances are relative to the first residual.
      const auto to_zero = cg(problem.a, zero, {}, {.x0 = x0, .single_reduction = single});
      EXPECT_EQ(to_zero.reason, StopReason::converged);
      EXPECT_LE(size_of_vector(whole(to_zero.x)), 1e-6 * size_of_vector(solution));
    });
  });
}

TEST(Cg, stops_at_exact_convergence) {
  on_ranks([](Comm comm) {
    // Converges to the last bit long before the first check.
    const Layout line = Layout::scatter(comm, {6});
    const auto y = make_array<double>(line, 3);
    for_variants([&](bool single) {
      const auto fit =
          cg(2.0 * identity<double>(line), y, {.relative_tolerance = 0, .check_every = 50},
             {.single_reduction = single});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, parts_of(whole(0.5 * y)), 0);
    });
  });
}

TEST(Cg, detects_operators_that_are_not_positive_definite) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {8});
    DistributedArray<double> d(line);
    d.fill([](const Index& at) { return at[0] == 5 ? -1000.0 : 1.0 + static_cast<double>(at[0]); });
    const auto y = make_array<double>(line, 2);
    const auto a = diagonal(d);
    for_variants([&](bool single) {
      std::vector<double> last;
      for (const index_t check_every : {1, 7}) {
        const auto fit = cg(a, y, {.check_every = check_every}, {.single_reduction = single});
        EXPECT_EQ(fit.reason, StopReason::breakdown);
        expect_contains(fit.message, "not positive definite");
        expect_contains(fit.message, "cgls");
        // x does not change after the breakdown, whenever it is detected.
        const std::vector<double> x = fit.x.to_host();
        if (check_every > 1) {
          EXPECT_EQ(x, last);
        }
        last = x;
      }
      const auto negative =
          cg(identity<double>(line), y, {},
             {.preconditioner = -identity<double>(line), .single_reduction = single});
      EXPECT_EQ(negative.reason, StopReason::breakdown);
      expect_contains(negative.message, "preconditioner");
    });
  });
}

TEST(Cg, detects_values_that_are_not_finite) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {8});
    DistributedArray<double> y(line);
    y.fill([](const Index& at) { return at[0] == 3 ? std::nan("") : 1.0; });
    for_variants([&](bool single) {
      const auto fit = cg(identity<double>(line), y, {}, {.single_reduction = single});
      EXPECT_EQ(fit.reason, StopReason::not_finite);
      expect_contains(fit.message, "iteration 0");
      EXPECT_EQ(fit.iterations, 0);
    });
  });
}

TEST(Cg, rejects_mismatched_arguments) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {8});
    const auto a = identity<double>(line);
    const DistributedArray<double> y(line);
    const DistributedArray<double> other(Layout::scatter(comm, {5}));
    const auto refused = [&](const std::vector<std::string>& words,
                             const std::function<void()>& call) {
      expect_error<ArgumentError>(comm, words, call);
    };
    refused({"cg", "itself", "cgls()"}, [&] { cg(vstack({a, a}), y); });
    refused({"cg", "y is"}, [&] { cg(a, other); });
    refused({"cg", "x0 is"}, [&] { cg(a, y, {}, {.x0 = other}); });
    refused({"cg", "preconditioner"},
            [&] { cg(a, y, {}, {.preconditioner = identity<double>(other.layout())}); });
  });
}

}  // namespace weft::test
