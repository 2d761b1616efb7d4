#include <weft/op/stencil/gradient.hpp>

#include "op/support/derivative_matrices.hpp"

#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include <atomic>
#include <functional>
#include <thread>

namespace weft::test {
namespace {

template <class T>
Expected<T> matrix_of(const Shape& shape, const GradientOptions& options) {
  const index_t n = shape.count();
  return {
      n * shape.ndim(), n, [&](index_t row, index_t column) {
        const auto axis = static_cast<int>(row / n);
        const double d =
            options.sampling[options.sampling.size() == 1 ? 0 : static_cast<std::size_t>(axis)];
        const auto difference = [&](index_t i, index_t extent) {
          return first_difference_at(i, extent, {options.kind, options.edge, options.order});
        };
        return T(static_cast<Real<T>>(entry_along(shape, axis, row % n, column, difference) / d));
      }};
}

template <class T>
void check_gradient(const Comm& comm, const Shape& shape, GradientOptions options = {}) {
  for (const DerivativeCase& c : first_derivatives()) {
    options.kind = c.kind;
    options.edge = c.edge;
    options.order = c.order;
    const auto expected = matrix_of<T>(shape, options);
    for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
      check_operator(gradient<T>(layout, options), expected, derivative_tolerance);
    });
  }
}

}  // namespace

TEST(Gradient, matches_matrix) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{7}, Shape{3, 4, 2}, Shape{1, 2}}) {
      check_gradient<double>(comm, shape);
    }
  });
}

TEST(Gradient, works_for_all_scalars) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      check_gradient<decltype(example)>(comm, {4, 3}, {.sampling = {0.5, -3}});
    });
    check_gradient<double>(comm, {4, 3}, {.sampling = {7}});
  });
}

TEST(Gradient, of_an_aborted_communicator_can_be_called_again) {
  if (world() != World::thread) GTEST_SKIP() << "a failure ends the MPI job, and the test with it";
  std::atomic<bool> ready = false;
  int failed = 0;
  run_threads(2, [&](const Comm& comm) {
    const auto A = gradient<double>(Layout::scatter(comm, {6, 5}));
    auto x = make_array<double>(A.domain());
    auto y = make_array<double>(A.range());
    if (comm.rank() == 1) {
      while (!ready) std::this_thread::yield();
      comm.abort("no more");
      return;
    }
    ready = true;
    const auto expect_error = [&](const std::function<void()>& call) {
      try {
        call();
      } catch (const CommError&) {
        ++failed;
      }
    };
    for (int repeat = 0; repeat < 2; ++repeat) {
      expect_error([&] { A.forward(x, y); });
      expect_error([&] { A.adjoint(y, x); });
    }
  });
  EXPECT_EQ(failed, 4);
}

TEST(Gradient, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5, 6});
    const auto expect = [&](const std::vector<std::string>& words, const GradientOptions& options) {
      expect_error<ArgumentError>(comm, words, [&] { gradient<double>(layout, options); });
    };
    expect({"gradient", "2 values of sampling", "3 axes"}, {.sampling = {1, 1}});
    expect({"gradient", "sampling", "got 0"}, {.sampling = {1, 2, 0}});
    expect({"gradient", "got 8"}, {.order = 8});
    expect_error<ArgumentError>(comm, {"gradient", "no axes"},
                                [&] { gradient<double>(Layout::replicated(comm, Shape{})); });
  });
}

}  // namespace weft::test
