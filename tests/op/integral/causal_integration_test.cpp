#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/integral/causal_integration.hpp>

#include <cmath>
#include <limits>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace weft::test {
namespace {

constexpr IntegrationKind all_kinds[] = {IntegrationKind::full, IntegrationKind::half,
                                         IntegrationKind::trapezoidal};

/// The weight of sample j in the integral to sample i, in units of the sampling.
double weight_of(IntegrationKind kind, index_t i, index_t j) {
  if (j > i) return 0;
  switch (kind) {
    case IntegrationKind::full: return 1;
    case IntegrationKind::half: return j == i ? 0.5 : 1;
    case IntegrationKind::trapezoidal: break;
  }
  if (i == 0) return 0;
  return j == 0 || j == i ? 0.5 : 1;
}

template <class T>
Expected<T> integration_matrix(const Shape& shape, const CausalIntegrationOptions& options) {
  const int axis = options.axis;
  const index_t removed = options.remove_first ? 1 : 0;
  const Shape to = shape.with(axis, shape[axis] - removed);
  return {to.count(), shape.count(), [=](index_t row, index_t column) {
            Index at = point_at(to, row);
            const Index from = point_at(shape, column);
            const index_t i = at[axis] + removed;
            at[axis] = from[axis];
            if (position_of(shape, at) != column) return T{};
            const double entry = options.sampling * weight_of(options.kind, i, from[axis]);
            return T(static_cast<Real<T>>(entry));
          }};
}

}  // namespace

// Weights and sampling are powers of two, so that results are exact.
TEST(CausalIntegration, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{9}, Shape{1, 6}, Shape{5, 3}, Shape{2, 4, 3}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          for (const IntegrationKind kind : all_kinds) {
            for (const bool remove_first : {false, true}) {
              // All combinations for one type.
              if (remove_first != (kind == IntegrationKind::half) && !std::same_as<T, double>)
                continue;
              const CausalIntegrationOptions options{axis, 0.5, kind, remove_first};
              const auto expected = integration_matrix<T>(shape, options);
              for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
                SCOPED_TRACE(fmt::format("axis {}, kind {}{}", axis, static_cast<int>(kind),
                                         remove_first ? ", remove_first" : ""));
                check_operator(causal_integration<T>(layout, options), expected);
              });
            }
          }
        }
      }
    });
  });
}

// Lines of several chunks and sections, with values that sum exactly.
TEST(CausalIntegration, integrates_long_lines) {
  on_ranks([](Comm comm) {
    for (const Shape& shape :
         {Shape{20'011}, Shape{20'011, 3}, Shape{3, 701}, Shape{11, 2, 1301}}) {
      for (int axis = 0; axis < shape.ndim(); ++axis) {
        const Layout layout = Layout::scatter(comm, shape, axis);
        const auto C = causal_integration<double>(layout, {.axis = axis});
        DistributedArray<double> x(layout);
        x.fill([&](const Index& at) { return static_cast<double>(at[axis] % 2 == 0 ? 3 : -1); });
        const auto y = C * x;
        const auto back = adjoint(C) * x;
        const index_t n = shape[axis];
        std::vector<double> expected;
        std::vector<double> expected_back;
        const auto sum_to = [](index_t i) {
          return static_cast<double>(i % 2 == 0 ? i + 3 : i + 1);
        };
        for_each_point(layout.box(), [&](const Index& at) {
          const index_t i = at[axis];
          expected.push_back(sum_to(i));
          expected_back.push_back(sum_to(n - 1) - (i == 0 ? 0 : sum_to(i - 1)));
        });
        expect_elements(y, expected);
        expect_elements(back, expected_back);
      }
    }
  });
}

// Arrays large enough for threads and for non-temporal stores.
TEST(CausalIntegration, does_not_depend_on_the_number_of_threads) {
  for (const Shape& shape :
       {Shape{1'600'003}, Shape{100'003, 3}, Shape{1300, 1301}, Shape{3, 40'001}}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const Layout layout = Layout::local(shape);
      const auto C =
          causal_integration<double>(layout, {.axis = axis, .kind = IntegrationKind::trapezoidal});
      DistributedArray<double> x(layout);
      x.fill([&](const Index& at) {
        return 1.0 / static_cast<double>(1 + (at[0] * 7919 + at[at.ndim() - 1]) % 1009);
      });
      std::vector<double> forward;
      std::vector<double> backward;
      for (const int threads : {1, 2, 5}) {
#if defined(_OPENMP)
        omp_set_num_threads(threads);
#endif
        const std::vector<double> y = (C * x).to_host();
        const std::vector<double> back = (adjoint(C) * x).to_host();
        if (threads == 1) {
          forward = y;
          backward = back;
        }
        EXPECT_EQ(y, forward) << to_string(shape) << ", axis " << axis << ", " << threads;
        EXPECT_EQ(back, backward) << to_string(shape) << ", axis " << axis << ", " << threads;
      }
    }
  }
#if defined(_OPENMP)
  omp_set_num_threads(1);
#endif
}

// Sums of floats are accumulated in double precision: 1 + 2^-24 + ... is not lost.
TEST(CausalIntegration, accumulates_in_double_precision) {
  on_ranks([](Comm comm) {
    const index_t n = 5'001;
    for (const Shape& shape : {Shape{n}, Shape{n, 2}}) {
      const Layout layout = Layout::scatter(comm, shape);
      DistributedArray<float> x(layout);
      const float small = std::ldexp(1.0F, -24);
      x.fill([&](const Index& at) { return at[0] == 0 ? 1.0F : small; });
      const auto y = causal_integration<float>(layout, {.axis = 0}) * x;
      std::vector<float> expected;
      for_each_point(layout.box(), [&](const Index& at) {
        expected.push_back(
            static_cast<float>(1 + static_cast<double>(at[0]) * std::ldexp(1.0, -24)));
      });
      expect_elements(y, expected);
    }
  });
}

TEST(CausalIntegration, keeps_elements_on_their_ranks) {
  on_ranks([](Comm comm) {
    const index_t n = 2 * comm.size();
    const Layout layout = Layout::scatter(comm, {n, 3});
    const auto C = causal_integration<double>(layout, {.axis = 0, .remove_first = true});
    std::vector<index_t> extents(static_cast<std::size_t>(comm.size()), 2);
    extents[0] = 1;
    EXPECT_EQ(C.range(), Layout::scatter(comm, {n - 1, 3}, 0, extents));
    EXPECT_EQ(causal_integration<double>(layout, {.axis = 0}).range(), layout);
  });
}

TEST(CausalIntegration, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect_refused = [&](const std::vector<std::string>& words,
                                    const CausalIntegrationOptions& options) {
      expect_error<ArgumentError>(comm, words,
                                  [&] { causal_integration<double>(layout, options); });
    };
    expect_refused({"causal_integration", "axis 2"}, {.axis = 2});
    for (const double bad :
         {0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      expect_refused({"causal_integration", "sampling"}, {.sampling = bad});
    }
    expect_refused({"causal_integration", "IntegrationKind", "3"},
                   {.kind = static_cast<IntegrationKind>(3)});
    expect_error<ArgumentError>(comm, {"stack"},
                                [&] { causal_integration<double>(Layout::stack({layout})); });
  });
}

}  // namespace weft::test
