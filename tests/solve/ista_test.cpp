#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/solve/ista.hpp>

#include "solve/support/lasso.hpp"
#include "solve/support/problems.hpp"
#include "support/ranks.hpp"

#include <algorithm>
#include <limits>

namespace weft::test {
namespace {

constexpr Threshold all_thresholds[] = {Threshold::soft, Threshold::hard, Threshold::half};

double penalty(Threshold threshold, double size) {
  switch (threshold) {
    case Threshold::soft: return size;
    case Threshold::hard: return size > 0 ? 1 : 0;
    case Threshold::half: return std::sqrt(size);
  }
  return 0;
}

/// 1/2 |y - A x|² + eps P(x)
double objective(const RealMatrix& a, const std::vector<double>& y, double eps, Threshold threshold,
                 const std::vector<double>& x) {
  const double residual = size_of_vector(plus(y, -1, product(a, x)));
  double sum = 0.5 * residual * residual;
  for (const double value : x) sum += eps * penalty(threshold, std::abs(value));
  return sum;
}

/// At the minimum of 1/2 |y - A x|² + eps |x|₁, g = Aᴴ(y - A x) is eps x / |x|, and |g| <= eps
/// where x is 0.
template <Scalar D, Scalar R>
void expect_optimal(const LinearOperator<D, R>& a, const ConstArrayView<R>& y, double eps,
                    const ConstArrayView<D>& x, double tolerance) {
  DistributedArray<R> r(y);
  a.forward(x, r, {-1, 1});
  DistributedArray<D> g(a.domain());
  a.adjoint(r, g);
  const std::vector<D> gs = g.to_host();
  const std::vector<D> xs = x.to_host();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double size = static_cast<double>(std::abs(xs[i]));
    if (size == 0) {
      EXPECT_LE(static_cast<double>(std::abs(gs[i])), eps + tolerance);
    } else {
      const D expected = xs[i] * static_cast<Real<D>>(eps / size);
      EXPECT_LE(static_cast<double>(std::abs(gs[i] - expected)), tolerance);
    }
  }
}

double largest_eigenvalue(const RealMatrix& a) {
  const RealMatrix normal = product(transposed(a), a);
  std::vector<double> v(static_cast<std::size_t>(a.columns), 1.0);
  double size = 0;
  for (int k = 0; k < 2000; ++k) {
    v = product(normal, v);
    size = size_of_vector(v);
    for (double& value : v) value /= size;
  }
  return size;
}

}  // namespace

TEST(Ista, thresholds_are_proximal_operators) {
  // With A = 1, one step from x0 minimises 1/2 |c - u|² + t eps P(c), where u = x0 + t (y - x0).
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {41});
    DistributedArray<double> y(line);
    DistributedArray<double> x0(line);
    y.fill([](const Index& at) { return 0.2 * static_cast<double>(at[0] - 20); });
    x0.fill([](const Index& at) { return 0.01 * static_cast<double>(at[0] % 7); });
    for (const Threshold threshold : all_thresholds) {
      for (const double eps : {0.0, 0.3, 1.0, 2.5}) {
        for (const double step : {1.0, 0.4}) {
          Ista solver(identity<double>(line), y, {},
                      {.eps = eps, .threshold = threshold, .step = step, .x0 = x0});
          solver.step();
          for (index_t i = 0; i < line.local_count(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double u = x0.local()[at] + step * (y.local()[at] - x0.local()[at]);
            const auto value = [&](double c) {
              return 0.5 * (c - u) * (c - u) + step * eps * penalty(threshold, std::abs(c));
            };
            double least = value(0);
            for (int k = 1; k <= 2000; ++k) least = std::min(least, value(u * k / 2000));
            EXPECT_LE(value(solver.x().local()[at]), least + 1e-13) << "u = " << u;
            EXPECT_GE(value(solver.x().local()[at]), least - 1e-5) << "u = " << u;
          }
        }
      }
    }
  });
}

TEST(Ista, thresholds_keep_the_phase_of_complex_numbers) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    const Layout line = Layout::scatter(comm, {30});
    const auto y = make_array<T>(line, 3);
    DistributedArray<double> sizes(line);
    const std::vector<T> numbers = y.to_host();
    for (std::size_t i = 0; i < numbers.size(); ++i) sizes.local()[i] = std::abs(numbers[i]);
    for (const Threshold threshold : all_thresholds) {
      const IstaOptions<T> options{.eps = 5.5, .threshold = threshold, .step = 1};
      const auto fit = ista(identity<T>(line), y, {}, options);
      const auto real =
          ista(identity<double>(line), sizes, {}, {.eps = 5.5, .threshold = threshold, .step = 1});
      EXPECT_EQ(fit.reason, StopReason::converged);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const T expected = std::polar(real.x.local()[i], std::arg(numbers[i]));
        EXPECT_LE(std::abs(fit.x.local()[i] - expected), 1e-13);
      }
    }
  });
}

TEST(Ista, orthogonal_operators_take_one_step) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_orthonormal(13, 13));
    const std::vector<double> u = product(transposed(problem.matrix), problem.data);
    for (const Threshold threshold : all_thresholds) {
      const double eps = 4;
      const IstaOptions<double> options{.eps = eps, .threshold = threshold, .step = 1};
      const auto identity_of_u =
          ista(identity<double>(problem.a.domain()), array_of(problem.a.domain(), u), {}, options);
      const auto fit = ista(problem.a, problem.y, {.relative_tolerance = 1e-13}, options);
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      EXPECT_LE(fit.iterations, 3);
      EXPECT_LE(fit.gradient_norm, 1e-12);
      expect_near(fit.x, whole(identity_of_u.x), 1e-13);
      if (threshold != Threshold::soft) continue;
      std::vector<double> expected = u;
      for (double& value : expected) value = soft(value, eps);
      expect_near(fit.x, expected, 1e-13);
    }
  });
}

TEST(Ista, agrees_with_coordinate_descent) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);  // too many for this check
    for (const auto& [rows, columns, eps] :
         {std::tuple{17, 6, 40.0}, std::tuple{17, 6, 0.0}, std::tuple{7, 12, 60.0}}) {
      for (const Device device : {Device::cpu(), other_device()}) {
        if (device != Device::cpu() && eps != 40) continue;  // debug is slow
        const Problem problem(comm, some_real_matrix(rows, columns), device);
        const std::vector<double> expected = lasso(problem.matrix, problem.data, eps);
        const double least =
            objective(problem.matrix, problem.data, eps, Threshold::soft, expected);
        Ista slow(problem.a, problem.y, exactly, {.eps = eps});
        Fista fast(problem.a, problem.y, exactly, {.eps = eps});
        Fista tried(problem.a, problem.y, exactly, {.eps = eps, .backtracking = true});
        for (ProximalGradient<double, double>* solver :
             {static_cast<ProximalGradient<double, double>*>(&slow),
              static_cast<ProximalGradient<double, double>*>(&fast),
              static_cast<ProximalGradient<double, double>*>(&tried)}) {
          solver->run();
          EXPECT_EQ(solver->stop_reason(), StopReason::converged) << solver->message();
          expect_near(solver->x(), expected, 1e-10);
          EXPECT_NEAR(solver->objective().back(), least, 1e-12 * least);
        }
      }
    }
  });
}

TEST(Ista, the_objective_decreases_and_is_that_of_x) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(10, 14));
    const auto start = array_of(problem.a.domain(), some_vector(14, 3));
    for (const Threshold threshold : all_thresholds) {
      for (const bool backtracking : {false, true}) {
        const IstaOptions<double> options{
            .eps = 30, .threshold = threshold, .backtracking = backtracking, .x0 = start};
        Ista slow(problem.a, problem.y, {.relative_tolerance = 0}, options);
        Fista fast(problem.a, problem.y, {.relative_tolerance = 0}, options);
        const auto expect_objective = [&](const auto& solver) {
          const double expected =
              objective(problem.matrix, problem.data, 30, threshold, whole(solver.x()));
          EXPECT_NEAR(solver.objective().back(), expected, 1e-12 * expected);
          EXPECT_EQ(solver.objective().size(), solver.history().size());
        };
        expect_objective(slow);
        for (std::size_t k = 1; k <= 40; ++k) {
          slow.step();
          fast.step();
          expect_objective(slow);
          expect_objective(fast);
          EXPECT_LE(slow.objective()[k], slow.objective()[k - 1] * (1 + 1e-14));
        }
        EXPECT_NEAR(slow.solution().residual_norm, slow.history().back().residual_norm, 1e-10);
      }
    }
  });
}

TEST(Ista, estimates_the_step) {
  on_ranks([](Comm comm) {
    for (const auto& matrix : {some_real_matrix(15, 9), matrix_of_condition(12, 12, 1e3)}) {
      const Problem problem(comm, matrix);
      const double largest = largest_eigenvalue(matrix);
      const Ista solver(problem.a, problem.y);
      EXPECT_LE(solver.step_length() * largest, 1);
      EXPECT_GE(solver.step_length() * largest, 0.94);

      Fista tried(problem.a, problem.y, exactly, {.eps = 0.1, .backtracking = true});
      EXPECT_GE(tried.step_length() * largest, 1 - 1e-12);
      tried.run();
      EXPECT_GE(tried.step_length() * largest, 0.7 - 1e-12);
      Fista given(problem.a, problem.y, exactly, {.eps = 0.1, .step = 1e5, .backtracking = true});
      given.run();
      EXPECT_GE(given.step_length() * largest, 0.7 - 1e-12);
      EXPECT_EQ(given.stop_reason(), StopReason::converged) << given.message();
      expect_near(given.x(), lasso(matrix, problem.data, 0.1), 1e-7);
    }
  });
}

TEST(Ista, all_pairs_of_scalars) {
  on_ranks([](Comm comm) {
    const auto check = [&]<Scalar D, Scalar R>(D, R) {
      const auto a = some_operator<D, R>(Layout::scatter(comm, {7}), Layout::scatter(comm, {9}), 1);
      const auto y = make_array<R>(a.range(), 4);
      const double eps = 50;
      const SolverOptions options{
          .max_iterations = static_cast<index_t>(by_precision<D>(10000, 300)),
          .relative_tolerance = by_precision<D>(1e-14, 1e-6)};
      const auto fit = fista(a, y, options, {.eps = eps});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_optimal(a, y, eps, fit.x, by_precision<D>(1e-8, 1e-2));
      const auto tried = ista(a, y, options, {.eps = eps, .backtracking = true});
      expect_optimal(a, y, eps, tried.x, by_precision<D>(1e-7, 1));
      if constexpr (is_complex<D>) {
        // A unitary diagonal operator does not change the penalty, and so not the solution.
        DistributedArray<D> phases(a.domain());
        phases.fill(
            [](const Index& at) { return std::polar(Real<D>{1}, static_cast<Real<D>>(at[0])); });
        const auto turned = fista(a, y, options, {.eps = eps, .sparsifier = diagonal(phases)});
        expect_near(turned.x, parts_of(whole(fit.x)), by_precision<D>(1e-9, 1e-4));
      }
    };
    for_operator_scalars(check);
  });
}

TEST(Ista, all_layouts) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    bool backtracking = false;
    for_problem_layouts(comm, [&](const Layout& domain, const Layout& range) {
      const auto a = some_operator<T>(domain, range, 2);
      const auto y = make_array<T>(range, 6);
      backtracking = !backtracking;
      const auto fit =
          fista(a, y, {.max_iterations = 1000, .relative_tolerance = 1e-6},
                {.eps = 50, .sparsifier = identity<T>(domain), .backtracking = backtracking});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_optimal(a, y, 50, fit.x, 0.1);
    });
  });
}

TEST(Ista, is_sparse_under_the_sparsifier) {
  on_ranks([](Comm comm) {
    const index_t n = 9;
    const double eps = 30;
    const RealMatrix basis = some_orthonormal(n, n, 3);
    const Problem problem(comm, some_real_matrix(14, n));
    const auto s = operator_of(comm, basis);
    const std::vector<double> c =
        lasso(product(problem.matrix, transposed(basis)), problem.data, eps);
    const std::vector<double> expected = product(transposed(basis), c);
    EXPECT_GT(std::count(c.begin(), c.end(), 0.0), 0);
    Fista fast(problem.a, problem.y, exactly, {.eps = eps, .sparsifier = s});
    Ista slow(problem.a, problem.y, exactly, {.eps = eps, .sparsifier = s});
    fast.run();
    slow.run();
    expect_near(fast.x(), expected, 1e-10);
    expect_near(slow.x(), expected, 1e-10);
    const double least = objective(product(problem.matrix, transposed(basis)), problem.data, eps,
                                   Threshold::soft, c);
    EXPECT_NEAR(fast.objective().back(), least, 1e-12 * least);

    // A tight frame with twice as many coefficients: |S x|₁ = sqrt(2) |x|₁.
    const auto once = std::sqrt(0.5) * identity<double>(problem.a.domain());
    const auto frame = fista(problem.a, problem.y, exactly,
                             {.eps = eps / std::sqrt(2), .sparsifier = vstack({once, once})});
    expect_near(frame.x, lasso(problem.matrix, problem.data, eps), 1e-10);
  });
}

TEST(Ista, does_not_converge_during_decay) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(17, 6));
    const double eps = 40;
    const auto fit =
        ista(problem.a, problem.y, exactly, {.eps = eps, .decay = {1000, 1000, 30, 2}});
    expect_near(fit.x, lasso(problem.matrix, problem.data, eps), 1e-10);

    // Nor at the start: hard thresholds keep x at 0 unless they begin low.
    const IstaOptions<double> low{.eps = 1e4, .threshold = Threshold::hard, .decay = {0, 0, 0}};
    EXPECT_GT(ista(problem.a, problem.y, {}, low).iterations, 3);

    // With such a large eps, x stays 0 until the decay ends.
    Ista solver(problem.a, problem.y, {}, {.eps = eps, .decay = {1e4, 1e4, 1e4}});
    for (int k = 0; k < 3; ++k) {
      EXPECT_TRUE(solver.step());
      expect_near(solver.x(), std::vector<double>(6), 0);
    }
    EXPECT_TRUE(solver.step());
    EXPECT_GT(size_of_vector(whole(solver.x())), 0);
  });
}

TEST(Ista, stops_at_once_at_the_solution) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const DistributedArray<double> zero(problem.a.range());
    EXPECT_EQ(fista(problem.a, zero).iterations, 0);
    // x is 0 for every eps of at least the largest element of |Aᴴ y|.
    const auto all = fista(problem.a, problem.y, {}, {.eps = 1e4});
    EXPECT_EQ(all.reason, StopReason::converged);
    EXPECT_EQ(all.iterations, 0);
    expect_near(all.x, std::vector<double>(4), 0);
    EXPECT_NEAR(all.residual_norm, size_of_vector(problem.data), 1e-12);

    const auto solution = array_of(problem.a.domain(), lasso(problem.matrix, problem.data, 20));
    EXPECT_EQ(ista(problem.a, problem.y, {}, {.eps = 20, .x0 = solution}).iterations, 0);
    for (const bool backtracking : {false, true}) {
      const Layout empty = Layout::scatter(comm, {0});
      EXPECT_EQ(fista(identity<double>(empty), DistributedArray<double>(empty), {},
                      {.backtracking = backtracking})
                    .reason,
                StopReason::converged);
      // With a zero operator, only the penalty remains.
      const auto nothing =
          fista(0.0 * problem.a, problem.y, {}, {.backtracking = backtracking, .x0 = solution});
      EXPECT_EQ(nothing.reason, StopReason::converged) << nothing.message;
      expect_near(nothing.x, std::vector<double>(4), 0);
    }
  });
}

TEST(Ista, rejects_invalid_arguments) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto& a = problem.a;
    const auto& y = problem.y;
    const double nan = std::nan("");
    const DistributedArray<double> other(Layout::scatter(comm, {5}));
    const auto refused = [&](const std::vector<std::string>& words,
                             const IstaOptions<double>& options) {
      expect_error<ArgumentError>(comm, words, [&] { ista(a, y, {}, options); });
      expect_error<ArgumentError>(comm, words, [&] { fista(a, y, {}, options); });
    };
    refused({"Threshold", "3"}, {.threshold = static_cast<Threshold>(3)});
    expect_error<ArgumentError>(comm, {"fista", "y is"}, [&] { fista(a, other); });
    expect_error<ArgumentError>(comm, {"ista", "max_iterations"},
                                [&] { ista(a, y, {.max_iterations = 0}); });
    refused({"ista", "x0 is"}, {.x0 = other});
    refused({"ista", "sparsifier"}, {.sparsifier = identity<double>(other.layout())});
    refused({"eps = -1"}, {.eps = -1});
    refused({"eps = nan"}, {.eps = nan});
    refused({"eps = inf"}, {.eps = std::numeric_limits<double>::infinity()});
    refused({"step = 0"}, {.step = 0.0});
    refused({"step = nan"}, {.step = nan});
    refused({"decay[1] = -2"}, {.decay = {1, -2}});
  });
}

}  // namespace weft::test
