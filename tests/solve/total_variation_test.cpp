#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/solve/total_variation.hpp>

#include "solve/support/problems.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"

#include <algorithm>
#include <limits>

namespace weft::test {
namespace {

/// A grid of numbers with forward differences, on one rank; a line is a grid of one row.
struct Grid {
  index_t rows;
  index_t columns;
  TotalVariationNorm norm = TotalVariationNorm::isotropic;

  std::size_t count() const { return static_cast<std::size_t>(rows * columns); }
  std::size_t at(index_t i, index_t j) const { return static_cast<std::size_t>(i * columns + j); }

  /// Down, then to the right.
  std::vector<double> gradient(const std::vector<double>& x) const {
    std::vector<double> g(2 * count());
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < columns; ++j) {
        if (i + 1 < rows) g[at(i, j)] = x[at(i + 1, j)] - x[at(i, j)];
        if (j + 1 < columns) g[count() + at(i, j)] = x[at(i, j + 1)] - x[at(i, j)];
      }
    }
    return g;
  }
  std::vector<double> adjoint(const std::vector<double>& g) const {
    std::vector<double> x(count());
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < columns; ++j) {
        const double down = i + 1 < rows ? g[at(i, j)] : 0;
        const double right = j + 1 < columns ? g[count() + at(i, j)] : 0;
        x[at(i, j)] -= down + right;
        if (i + 1 < rows) x[at(i + 1, j)] += down;
        if (j + 1 < columns) x[at(i, j + 1)] += right;
      }
    }
    return x;
  }

  double length(const std::vector<double>& g, std::size_t point) const {
    const double down = g[point];
    const double right = g[count() + point];
    return norm == TotalVariationNorm::isotropic ? std::hypot(down, right)
                                                 : std::abs(down) + std::abs(right);
  }
  double variation(const std::vector<double>& x) const {
    const std::vector<double> g = gradient(x);
    double sum = 0;
    for (std::size_t point = 0; point < count(); ++point) sum += length(g, point);
    return sum;
  }
  double objective(const std::vector<double>& y, double mu, const std::vector<double>& x) const {
    const double misfit = size_of_vector(plus(y, -1, x));
    return misfit * misfit / 2 + mu * variation(x);
  }

  /// Projects to vectors (or components) no longer than mu.
  void project(std::vector<double>& g, double mu) const {
    for (std::size_t point = 0; point < count(); ++point) {
      double& down = g[point];
      double& right = g[count() + point];
      if (norm == TotalVariationNorm::isotropic) {
        const double factor = std::max(1.0, std::hypot(down, right) / mu);
        down /= factor;
        right /= factor;
      } else {
        down = std::clamp(down, -mu, mu);
        right = std::clamp(right, -mu, mu);
      }
    }
  }

  /// The minimiser by another method: x = y - Gᵀd, with the dual variable d from projected
  /// gradients with momentum and restarts.
  std::vector<double> denoised(const std::vector<double>& y, double mu, int iterations) const {
    std::vector<double> d(2 * count());
    std::vector<double> ahead = d;
    double momentum = 1;
    for (int k = 0; k < iterations; ++k) {
      const std::vector<double> x = plus(y, -1, adjoint(ahead));
      std::vector<double> next = plus(ahead, 1.0 / 8, gradient(x));
      project(next, mu);
      const std::vector<double> step = plus(next, -1, d);
      const std::vector<double> pull = plus(ahead, -1, next);
      double uphill = 0;
      for (std::size_t i = 0; i < step.size(); ++i) uphill += pull[i] * step[i];
      const double faster = uphill > 0 ? 1 : (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
      ahead = plus(next, uphill > 0 ? 0 : (momentum - 1) / faster, step);
      momentum = faster;
      d = next;
    }
    return plus(y, -1, adjoint(d));
  }
};

/// A step function with noise, the same on all ranks.
std::vector<double> steps(index_t n, double noise) {
  std::vector<double> values = some_vector(n, 3);
  for (index_t i = 0; i < n; ++i) {
    const double level = i < n / 3 ? 1 : i < n / 2 ? 4 : i < 3 * n / 4 ? -2 : 0;
    double& value = values[static_cast<std::size_t>(i)];
    value = level + noise * value / 9;
  }
  return values;
}

/// A block in a grid, with noise.
std::vector<double> block_with_noise(const Grid& grid) {
  std::vector<double> values = some_vector(grid.rows * grid.columns, 4);
  for (index_t i = 0; i < grid.rows; ++i) {
    for (index_t j = 0; j < grid.columns; ++j) {
      const bool inside = i >= 2 && i < 6 && j >= 3 && j < 7;
      double& value = values[grid.at(i, j)];
      value = (inside ? 5 : 1) + value / 18;
    }
  }
  return values;
}

/// Enough for the tests below. An iteration takes a few dozen messages.
const SolverOptions long_run{.max_iterations = 200, .relative_tolerance = 1e-7};

}  // namespace

TEST(TotalVariation, denoises_a_line) {
  on_ranks([](Comm comm) {
    const Grid grid{1, 37};
    const Layout line = Layout::scatter(comm, {37});
    const std::vector<double> y = steps(37, 0.6);
    const auto a = identity<double>(line);
    for (const auto& [mu, rho] :
         {std::pair{0.05, 0.3}, std::pair{0.7, 3.0}, std::pair{99.0, 30.0}}) {
      const auto fit = total_variation(a, array_of(line, y), long_run,
                                       {.mu = mu, .rho = rho, .inner_iterations = 3});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, grid.denoised(y, mu, 1000), 1e-5);
      if (mu < 99) continue;
      // So strong that only the mean remains.
      double mean = 0;
      for (const double value : y) mean += value / 37;
      expect_near(fit.x, std::vector<double>(37, mean), 1e-5);
    }
  });
}

TEST(TotalVariation, is_optimal_on_a_line_by_its_certificate) {
  // x is the solution if the cumulative sum of Aᴴ(y - A x) is between -mu and mu, ends at 0, and is
  // mu or -mu at each jump of x, depending on its sign.
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {50});
    const double mu = 0.8;
    const std::vector<double> y = steps(50, 0.9);
    const auto expect_optimal = [&](double (*scale)(double)) {
      const auto x = whole(total_variation(diagonal_of(line, scale), array_of(line, y),
                                           {.max_iterations = 1000, .relative_tolerance = 1e-8},
                                           {.mu = mu, .rho = 3})
                               .x);
      double sum = 0;
      for (std::size_t i = 0; i < 50; ++i) {
        const double d = scale(static_cast<double>(i));
        sum += d * (y[i] - d * x[i]);
        EXPECT_LE(std::abs(sum), mu + 1e-5);
        const double jump = i < 49 ? x[i + 1] - x[i] : 0;
        if (std::abs(jump) > 1e-3) {
          EXPECT_NEAR(sum, -std::copysign(mu, jump), 1e-4);
        }
      }
      EXPECT_NEAR(sum, 0, 1e-5);
    };
    expect_optimal([](double) { return 1.0; });
    // Fewer data than unknowns, and data of different weights.
    expect_optimal([](double i) { return std::fmod(i, 3) == 1 ? 0.0 : 1.0; });
    expect_optimal([](double i) { return 0.5 + std::fmod(i, 4); });
  });
}

TEST(TotalVariation, denoises_a_plane_with_either_norm) {
  on_ranks([](Comm comm) {
    struct Case {
      TotalVariationNorm norm;
      double mu;
      double rho;
    };
    const Layout layout = Layout::bricks(comm, {8, 9});
    for (const auto& [norm, mu, rho] :
         {Case{TotalVariationNorm::isotropic, 0.2, 1}, Case{TotalVariationNorm::isotropic, 2, 5},
          Case{TotalVariationNorm::anisotropic, 0.2, 1}}) {
      const Grid grid{8, 9, norm};
      const std::vector<double> y = block_with_noise(grid);
      const std::vector<double> expected = grid.denoised(y, mu, 2500);
      const auto fit = total_variation(identity<double>(layout), array_of(layout, y), long_run,
                                       {.mu = mu, .rho = rho, .inner_iterations = 3, .norm = norm});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, expected, 1e-5);
      EXPECT_LE(fit.residual_norm, 1e-4);
      EXPECT_LE(fit.gradient_norm, 1e-4);
      const double least = grid.objective(y, mu, expected);
      EXPECT_NEAR(grid.objective(y, mu, whole(fit.x)), least, 1e-6 * least);
    }
  });
}

TEST(TotalVariation, the_objective_decreases) {
  on_ranks([](Comm comm) {
    const Grid grid{8, 9};
    const std::vector<double> y = block_with_noise(grid);
    const Layout layout = Layout::scatter(comm, {8, 9});
    TotalVariation solver(identity<double>(layout), array_of(layout, y),
                          {.max_iterations = 200, .relative_tolerance = 0}, {.mu = 0.5});
    double last = grid.objective(y, 0.5, whole(solver.x()));
    for (int part = 0; part < 5; ++part) {
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(solver.step());
      const double now = grid.objective(y, 0.5, whole(solver.x()));
      EXPECT_LT(now, last * (1 + 1e-6));
      last = now;
    }
    EXPECT_NEAR(last, grid.objective(y, 0.5, grid.denoised(y, 0.5, 3000)), 1e-3 * last);
  });
}

TEST(TotalVariation, does_not_depend_on_ranks_and_layouts) {
  on_ranks([](Comm comm) {
    const auto check = [&](const Shape& shape, const Layout& layout, TotalVariationNorm norm) {
      SCOPED_TRACE(to_string(layout));
      const SolverOptions options{.max_iterations = 6, .relative_tolerance = 0};
      const TotalVariationOptions<double> how{.mu = 3, .inner_iterations = 4, .norm = norm};
      const Layout here = Layout::local(shape);
      const auto one =
          total_variation(identity<double>(here), make_array<double>(here, 2), options, how);
      const auto fit =
          total_variation(identity<double>(layout), make_array<double>(layout, 2), options, how);
      expect_near(fit.x, whole(one.x), 1e-12);
      EXPECT_NEAR(fit.residual_norm, one.residual_norm, 1e-10);
      EXPECT_NEAR(fit.gradient_norm, one.gradient_norm, 1e-10);
    };
    const Shape shapes[] = {{19}, {5, 6}, {4, 3, 5}, {2, 3, 2, 3}};
    for (const Shape& shape : shapes) {
      const auto norm = TotalVariationNorm::isotropic;
      check(shape, Layout::scatter(comm, shape), norm);
      check(shape, Layout::bricks(comm, shape), norm);
      check(shape, Layout::replicated(comm, shape), norm);
      check(shape, Layout::scatter(comm, shape).within(even_and_odd(comm.size())), norm);
      check(shape, Layout::scatter(comm, shape).on(other_device()), norm);
      check(shape, Layout::scatter(comm, shape), TotalVariationNorm::anisotropic);
    }
  });
}

TEST(TotalVariation, recovers_blocks_from_a_blur) {
  on_ranks([](Comm comm) {
    const index_t n = 48;
    RealMatrix blur(n, n);
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < n; ++j) {
        blur(i, j) = std::exp(-static_cast<double>((i - j) * (i - j)) / 4) / 3.5;
      }
    }
    const std::vector<double> model = steps(n, 0);
    const auto a = operator_of(comm, blur);
    const auto fit = total_variation(a, array_of(a.range(), product(blur, model)),
                                     {.max_iterations = 100, .relative_tolerance = 1e-7},
                                     {.mu = 1e-3, .rho = 0.003, .inner_iterations = 10});
    expect_near(fit.x, model, 0.01);
  });
}

TEST(TotalVariation, all_pairs_of_scalars) {
  on_ranks([](Comm comm) {
    const Grid grid{1, 24};
    const Layout line = Layout::scatter(comm, {24});
    const std::vector<double> y = steps(24, 0.6);
    const std::vector<double> expected = grid.denoised(y, 0.5, 3000);
    const auto check = [&]<Scalar D, Scalar R>(const LinearOperator<D, R>& a) {
      const bool single = std::same_as<Real<D>, float>;
      // The complex model is the real one times a factor of modulus 1.
      D phase{};
      if constexpr (is_complex<D>) {
        phase = D(Real<D>(0.6), Real<D>(-0.8));
      } else {
        phase = 1;
      }
      const auto times_phase = [&](const std::vector<double>& values) {
        DistributedArray<D> x(line);
        x.fill([&](const Index& at) {
          return phase * static_cast<Real<D>>(values[static_cast<std::size_t>(at[0])]);
        });
        return x;
      };
      const auto fit =
          total_variation(a, a * times_phase(y),
                          {.max_iterations = 1000, .relative_tolerance = single ? 1e-6 : 1e-8},
                          {.mu = 0.5, .rho = 2, .inner_iterations = 3});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, parts_of(whole(times_phase(expected))), single ? 1e-4 : 1e-6);
    };
    const auto check_precision = [&]<class F>(F) {
      using C = std::complex<F>;
      check(identity<F>(line));
      check(identity<C>(line));
      check(adjoint(real_part<C>(line)));
      check(vstack({real_part<C>(line), imag_part<C>(line)}));
    };
    check_precision(float{});
    check_precision(double{});
  });
}

TEST(TotalVariation, finer_sampling_makes_gradients_larger) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {20});
    const auto y = array_of(line, steps(20, 0.6));
    const auto a = identity<double>(line);
    const auto one = total_variation(a, y, long_run, {.mu = 0.6, .rho = 2});
    TotalVariationOptions<double> half{.mu = 0.3, .rho = 0.5};
    half.gradient.sampling = {0.5};
    expect_near(total_variation(a, y, long_run, half).x, whole(one.x), 1e-5);
    // A backward difference is a forward one at the next point.
    TotalVariationOptions<double> backward{.mu = 0.6, .rho = 2};
    backward.gradient.kind = DerivativeKind::backward;
    expect_near(total_variation(a, y, long_run, backward).x, whole(one.x), 1e-5);
  });
}

TEST(TotalVariation, starts_from_any_x0) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {30});
    const auto y = array_of(line, steps(30, 0.6));
    const auto a = identity<double>(line);
    const auto fit = total_variation(a, y, long_run, {.mu = 0.5, .rho = 2});
    // From y itself, where A x = y, and from the solution, for any number of inner iterations.
    for (const index_t inner : {1, 2}) {
      TotalVariationOptions<double> from{.mu = 0.5, .rho = 2, .inner_iterations = inner, .x0 = y};
      const auto same = total_variation(a, y, long_run, from);
      EXPECT_GT(same.iterations, 1);
      expect_near(same.x, whole(fit.x), 1e-5);
      from.x0 = fit.x;
      expect_near(total_variation(a, y, long_run, from).x, whole(fit.x), 1e-5);
    }
    const auto plain = total_variation(a, y, long_run, {.mu = 0});
    expect_near(plain.x, whole(y), 1e-6);
  });
}

TEST(TotalVariation, norms_are_those_of_its_residuals) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {30});
    TotalVariation solver(identity<double>(line), array_of(line, steps(30, 0.6)),
                          {.max_iterations = 25, .relative_tolerance = 0}, {.mu = 0.5, .rho = 2});
    solver.run();
    const auto first = solver.history()[1];
    const auto last = solver.history().back();
    EXPECT_LT(last.residual_norm, 0.1 * first.residual_norm);
    EXPECT_LT(last.gradient_norm, 0.1 * first.gradient_norm);
    const auto solution = solver.solution();
    EXPECT_EQ(solution.reason, StopReason::iteration_limit);
    EXPECT_NEAR(solution.residual_norm, last.residual_norm, 1e-12);
    EXPECT_NEAR(solution.gradient_norm, last.gradient_norm, 1e-12);
  });
}

TEST(TotalVariation, few_collectives_and_no_allocations) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t inner = 2;
    for (const Device device : {Device::cpu(), other_device()}) {
      const Layout grid = Layout::scatter(comm, {40, 10}).on(device);
      const auto a = identity<double>(grid);
      TotalVariation solver(a, make_array<double>(grid),
                            {.max_iterations = 1000, .relative_tolerance = 0},
                            {.inner_iterations = inner});
      const auto g = gradient<double>(grid, {.kind = DerivativeKind::forward});
      DistributedArray<double> of_g(g.range());
      DistributedArray<double> of_x(grid);
      const index_t forward = calls_of(comm, [&] { g.forward(of_x, of_g); });
      const index_t adjoint = calls_of(comm, [&] { g.adjoint(of_g, of_x); });
      const index_t sums = comm.size() > 1 ? 2 * inner : 0;
      EXPECT_EQ(calls_of(comm, [&] { solver.step(); }), sums + (inner + 1) * (forward + adjoint));
      expect_no_allocation(comm, [&] { solver.step(); });
    }
  });
}

TEST(TotalVariation, stops_at_once_at_the_solution) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {9});
    const auto nothing = total_variation(identity<double>(line), DistributedArray<double>(line));
    EXPECT_EQ(nothing.reason, StopReason::converged);
    EXPECT_EQ(nothing.iterations, 1);
    EXPECT_EQ(norm(nothing.x), 0);
    // A single point has no gradient; steps after convergence do not change x.
    for (const index_t n : {index_t{0}, index_t{1}}) {
      const Layout small = Layout::scatter(comm, {n});
      const auto fit = total_variation(identity<double>(small), make_array<double>(small, 1));
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, global_values<double>(small, 1), 1e-14);
    }
  });
}

TEST(TotalVariation, detects_values_that_are_not_finite_and_wrong_operators) {
  on_ranks([](Comm comm) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Layout line = Layout::scatter(comm, {12});
    std::vector<double> y = steps(12, 0.5);
    const auto data = array_of(line, y);
    y[5] = nan;
    const auto fit = total_variation(identity<double>(line), array_of(line, y));
    EXPECT_EQ(fit.reason, StopReason::not_finite);
    expect_contains(fit.message, "iteration 0");

    const auto failing = failing_operator(identity<double>(line), 7);
    TotalVariation solver(failing, data, {}, {.inner_iterations = 5});
    solver.run();
    EXPECT_EQ(solver.stop_reason(), StopReason::not_finite) << solver.message();
    expect_contains(solver.message(), "iteration 2");
    EXPECT_TRUE(std::isfinite(norm(solver.x())));

    // Both A p and G p are zero, which is impossible with a correct adjoint unless p is 0.
    const auto blind = function_operator<double>(
        line, line, [](const auto&, const ArrayView<double>& out) { out.fill(0); },
        [](const auto&, const ArrayView<double>& out) { out.fill(1); });
    const auto broken = total_variation(blind, data);
    EXPECT_EQ(broken.reason, StopReason::breakdown) << broken.message;
    expect_contains(broken.message, "dot_test");
  });
}

TEST(TotalVariation, rejects_invalid_arguments) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {8});
    const auto a = identity<double>(line);
    const auto y = make_array<double>(line);
    const DistributedArray<double> other(Layout::scatter(comm, {5}));
    const auto refused = [&](std::vector<std::string> words,
                             const TotalVariationOptions<double>& options) {
      words.emplace_back("total_variation");
      expect_error<ArgumentError>(comm, words, [&] { total_variation(a, y, {}, options); });
    };
    refused({"mu = -1"}, {.mu = -1});
    refused({"mu = nan"}, {.mu = std::nan("")});
    refused({"rho = 0"}, {.rho = 0});
    refused({"TotalVariationNorm", "2"}, {.norm = static_cast<TotalVariationNorm>(2)});
    refused({"rho = inf"}, {.rho = std::numeric_limits<double>::infinity()});
    refused({"inner_iterations = 0"}, {.inner_iterations = 0});
    refused({"x0 is", to_string(line), to_string(other.layout())}, {.x0 = other});
    expect_error<ArgumentError>(comm, {"y is", to_string(line), to_string(other.layout())},
                                [&] { total_variation(a, other); });
    const auto stack = identity<double>(Layout::stack({line, line}));
    expect_error<ArgumentError>(comm, {"total_variation", "stack", to_string(stack.domain())}, [&] {
      total_variation(stack, DistributedArray<double>(stack.range()));
    });
    TotalVariationOptions<double> options;
    options.gradient.sampling = {1, 2};
    expect_error<ArgumentError>(comm, {"sampling"}, [&] { total_variation(a, y, {}, options); });
  });
}

}  // namespace weft::test
