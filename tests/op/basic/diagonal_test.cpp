#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/diagonal.hpp>

namespace weft::test {
namespace {

/// The matrix with d(i) on its diagonal.
template <class T>
Expected<T> diagonal_matrix(index_t n, const std::function<T(index_t)>& d) {
  return {n, n, [&](index_t i, index_t j) { return i == j ? d(i) : T{}; }};
}

}  // namespace

TEST(Diagonal, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const auto entry = [](index_t i) { return value<T>(i, 5); };
      for_operator_layouts<T>(comm, {4, 5}, [&](const Layout& layout) {
        const auto a = diagonal(make_array<T>(layout, 5));
        check_operator(a, diagonal_matrix<T>(20, entry));
        check_operator(a.normal(),
                       diagonal_matrix<T>(20, [&](index_t i) { return T(std::norm(entry(i))); }));
      });
    });
  });
}

TEST(Diagonal, matches_matrix_of_a_stack) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(stacks(comm)), [](const Layout& layout) {
      const std::vector<double> d = global_values<double>(layout, 5);
      check_operator(diagonal(make_array<double>(layout, 5)),
                     diagonal_matrix<double>(layout.count(), [&](index_t i) {
                       return d[static_cast<std::size_t>(i)];
                     }));
    });
  });
}

TEST(Diagonal, matches_matrix_along_any_axis) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{7}, Shape{3, 1}, Shape{2, 4, 3}}) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          std::vector<T> d;
          for (index_t i = 0; i < shape[axis]; ++i) d.push_back(value<T>(i, 5));
          const auto expected = diagonal_matrix<T>(shape.count(), [&](index_t i) {
            return d[static_cast<std::size_t>(point_at(shape, i)[axis])];
          });
          for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
            check_operator(diagonal<T>(layout, d, {.axis = axis - shape.ndim()}), expected);
          });
        }
      }
    });
  });
}

TEST(Diagonal, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const std::vector<double> d(4);
    expect_error<ArgumentError>(comm, {"diagonal", "4 numbers", "axis 1", "(4, 5)"},
                                [&] { diagonal<double>(layout, d); });
    expect_error<ArgumentError>(comm, {"diagonal", "2"},
                                [&] { diagonal<double>(layout, d, {.axis = 2}); });
    expect_error<ArgumentError>(comm, {"stack"},
                                [&] { diagonal<double>(Layout::stack({layout}), d); });
  });
}

}  // namespace weft::test
