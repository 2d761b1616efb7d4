// Tests that cgls and lsqr share.

#include <weft/core/error.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/lsqr.hpp>

#include "solve/support/problems.hpp"
#include "support/ranks.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

struct ByCgls {
  static constexpr const char* name = "cgls";
  template <Scalar D, Scalar R>
  static auto solve(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                    const SolverOptions& options = {}, double damp = 0,
                    std::optional<DistributedArray<D>> x0 = {}) {
    return cgls(a, y, options, {.damp = damp, .x0 = std::move(x0)});
  }
};

struct ByLsqr {
  static constexpr const char* name = "lsqr";
  template <Scalar D, Scalar R>
  static auto solve(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                    const SolverOptions& options = {}, double damp = 0,
                    std::optional<DistributedArray<D>> x0 = {}) {
    return lsqr(a, y, options, {.damp = damp, .x0 = std::move(x0)});
  }
};

struct Names {
  template <class Method>
  static std::string GetName(int) {
    return Method::name;
  }
};

}  // namespace

template <class Method>
class LeastSquares : public testing::Test {};
using Methods = testing::Types<ByCgls, ByLsqr>;
TYPED_TEST_SUITE(LeastSquares, Methods, Names);

TYPED_TEST(LeastSquares, solves_all_pairs_of_scalars) {
  on_ranks([](Comm comm) {
    const auto check = [&]<Scalar D, Scalar R>(D, R) {
      const Layout domain = Layout::scatter(comm, {5});
      const Layout range = Layout::scatter(comm, {13});
      const auto a = some_operator<D, R>(domain, range, 1);
      const RealMatrix matrix = real_matrix(some_matrix<D, R>(13, 5, 1));
      const double damp = 1.5;
      const auto expected = least_squares(matrix, parts_of(global_values<R>(range, 4)), damp);
      for (const bool started : {false, true}) {
        std::optional<DistributedArray<D>> x0;
        if (started) x0 = make_array<D>(domain, 2);
        const auto fit = TypeParam::solve(
            a, make_array<R>(range, 4),
            {.max_iterations = 15, .relative_tolerance = by_precision<D>(1e-12, 1e-6)}, damp, x0);
        expect_near(fit.x, expected, by_precision<D>(1e-10, 1e-4));
        EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      }
    };
    for_operator_scalars(check);
  });
}

TYPED_TEST(LeastSquares, solves_on_all_layouts) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    for_problem_layouts(comm, [](const Layout& domain, const Layout& range) {
      const auto a = some_operator<T>(domain, range, 2);
      const RealMatrix matrix = real_matrix(some_matrix<T, T>(range.count(), domain.count(), 2));
      for (const double damp : {0.0, 2.0}) {
        std::optional<DistributedArray<T>> x0;
        if (damp != 0) x0 = make_array<T>(domain, 3);
        const auto fit =
            TypeParam::solve(a, make_array<T>(range, 6), {.relative_tolerance = 1e-12}, damp, x0);
        EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
        const auto expected = least_squares(matrix, parts_of(global_values<T>(range, 6)), damp);
        expect_near(fit.x, expected, 1e-8);
      }
    });
  });
}

TYPED_TEST(LeastSquares, solves_stacked_operators) {
  on_ranks([](Comm comm) {
    const SmoothLine line(comm);
    const auto fit = TypeParam::solve(line.a, line.y, {.relative_tolerance = 1e-13});
    expect_near(fit.x, least_squares(line.matrix, line.data), 1e-11);
  });
}

TYPED_TEST(LeastSquares, detects_data_that_are_not_finite) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(11, 5));
    std::vector<double> data = problem.data;
    data[7] = std::numeric_limits<double>::quiet_NaN();
    const auto fit = TypeParam::solve(problem.a, array_of(problem.a.range(), data));
    EXPECT_EQ(fit.reason, StopReason::not_finite);
    expect_contains(fit.message, "iteration 0");
    expect_contains(fit.message, "|y - A x|");
  });
}

TYPED_TEST(LeastSquares, groups_of_ranks_stop_together) {
  on_ranks([](Comm comm) {
    const GroupsProblem problem(comm, 1);
    const auto a = diagonal(problem.d);
    const auto fit = TypeParam::solve(a, problem.y, {.relative_tolerance = 1e-10});
    EXPECT_EQ(fit.reason, StopReason::converged);
    EXPECT_EQ(comm.allreduce(fit.iterations, ReduceOp::max), fit.iterations);
    for (const double value : (a * fit.x).to_host()) EXPECT_NEAR(value, 1, 1e-8);
  });
}

TYPED_TEST(LeastSquares, rejects_invalid_arguments) {
  on_ranks([](Comm comm) {
    const Problem problem(comm, some_real_matrix(9, 4));
    const auto& a = problem.a;
    const auto& y = problem.y;
    const DistributedArray<double> other(Layout::scatter(comm, {5}));
    const auto refused = [&](const std::vector<std::string>& words,
                             const std::function<void()>& call) {
      expect_error<ArgumentError>(comm, words, call);
    };
    refused({TypeParam::name, "y is"}, [&] { TypeParam::solve(a, other); });
    refused({TypeParam::name, "x0 is"}, [&] { TypeParam::solve(a, y, {}, 0, {other}); });
    refused({TypeParam::name, "max_iterations = 0"},
            [&] { TypeParam::solve(a, y, {.max_iterations = 0}); });
    refused({"damp = -1"}, [&] { TypeParam::solve(a, y, {}, -1); });
    refused({"damp = nan"}, [&] { TypeParam::solve(a, y, {}, std::nan("")); });
  });
}

}  // namespace weft::test
