#include <weft/op/matrix/matrix_mult.hpp>

#include "op/support/check_operator.hpp"
#include "support/allocations.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

namespace weft::test {
namespace {

constexpr int seed = 5;

/// The matrix that make_array fills, applied to each of `other` columns.
template <class T>
Expected<T> columns_of(const Shape& shape, index_t other) {
  return {shape[0] * other, shape[1] * other, [=](index_t row, index_t column) {
            if (row % other != column % other) return T{};
            return value<T>(row / other * shape[1] + column / other, seed);
          }};
}

/// The matrix of a multiplication by A along an axis of the model.
template <class T>
Expected<T> along_axis(const Shape& model, int axis, index_t rows) {
  const Shape data = model.with(axis, rows);
  return {data.count(), model.count(), [=](index_t row, index_t column) {
            const Index to = point_at(data, row);
            const Index from = point_at(model, column);
            for (int i = 0; i < model.ndim(); ++i) {
              if (i != axis && to[i] != from[i]) return T{};
            }
            return value<T>(to[axis] * model[axis] + from[axis], seed);
          }};
}

/// All grids p x q of the ranks.
std::vector<Index> grids(int ranks) {
  std::vector<Index> all;
  for (int p = 1; p <= ranks; ++p) {
    if (ranks % p == 0) all.push_back({p, ranks / p});
  }
  return all;
}

/// Number of calls that f makes on the communicator of A and on those of its rows and columns.
template <Scalar T>
index_t calls_along(const Layout& A, const std::function<void()>& f) {
  std::vector<Comm> comms{A.comm()};
  for (int axis = 0; axis < 2; ++axis) {
    const Comm line = A.line_comm(axis);
    if (line.valid() && !(line == A.comm())) comms.push_back(line);
  }
  for (const Comm& comm : comms) comm.reset_stats();
  f();
  index_t calls = 0;
  for (const Comm& comm : comms) calls += comm.stats().total().calls;
  return calls;
}

template <Scalar T>
void expect_calls(const LinearOperator<T>& a, const Layout& A, index_t forward, index_t adjoint) {
  SCOPED_TRACE(a.describe());
  auto x = make_array<T>(a.domain());
  auto y = make_array<T>(a.range());
  EXPECT_EQ(calls_along<T>(A, [&] { a.forward(x, y, {2, 3}); }), forward);
  EXPECT_EQ(calls_along<T>(A, [&] { a.adjoint(y, x, {2, 3}); }), adjoint);
  EXPECT_EQ(a.cost().messages, static_cast<double>(forward));
  EXPECT_EQ(a.adjoint_cost().messages, static_cast<double>(adjoint));
}

}  // namespace

TEST(MatrixMult, matches_matrix_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const auto expected = columns_of<T>({5, 4}, 1);
      for_operator_layouts<T>(comm, {5, 4}, [&](const Layout& layout) {
        check_operator(matrix_mult(make_array<T>(layout, seed)), expected);
      });
    });
  });
}

TEST(MatrixMult, handles_small_and_empty_matrices) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{1, 1}, Shape{2, 7}}) {
      for (const Index& grid : grids(comm.size())) {
        const auto A = make_array<double>(Layout::bricks(comm, shape, grid), seed);
        check_operator(matrix_mult(A, {.other = {2}}), columns_of<double>(shape, 2));
        check_operator(summa(A, {.columns = 2}), columns_of<double>(shape, 2));
      }
    }
  });
}

TEST(MatrixMult, multiplies_many_columns) {
  on_ranks([](Comm comm) {
    using T = std::complex<float>;
    const auto expected = columns_of<T>({4, 3}, 6);
    for_operator_layouts<T>(comm, {4, 3}, [&](const Layout& layout) {
      const auto A = matrix_mult(make_array<T>(layout, seed), {.other = {2, 3}});
      EXPECT_EQ(A.domain().shape(), Shape({3, 2, 3}));
      EXPECT_EQ(A.range().shape(), Shape({4, 2, 3}));
      check_operator(A, expected);
    });
  });
}

TEST(MatrixMult, has_expected_layouts) {
  on_ranks([](Comm comm) {
    const auto by = [](const Layout& layout) {
      return matrix_mult(make_array<float>(layout), {.other = {2}});
    };
    const auto rows = by(Layout::scatter(comm, {9, 5}));
    EXPECT_EQ(rows.domain(), Layout::replicated(comm, {5, 2}));
    EXPECT_EQ(rows.range(), Layout::scatter(comm, {9, 2}));
    const auto columns = by(Layout::scatter(comm, {9, 5}, 1));
    EXPECT_EQ(columns.domain(), Layout::scatter(comm, {5, 2}));
    EXPECT_EQ(columns.range(), Layout::replicated(comm, {9, 2}));
    const auto local = by(Layout::local({9, 5}));
    EXPECT_EQ(local.domain(), Layout::local({5, 2}));
    EXPECT_EQ(local.range(), Layout::local({9, 2}));
  });
}

TEST(MatrixMult, composes_on_a_grid) {
  on_ranks([](Comm comm) {
    for (const Index& grid : grids(comm.size())) {
      const auto A = matrix_mult(make_array<double>(Layout::bricks(comm, {7, 5}, grid), seed));
      const Layout turned = permute_axes(Layout::bricks(comm, {7, 6}, grid), std::vector{1, 0});
      const auto B = matrix_mult(make_array<double>(turned, seed));
      EXPECT_EQ(B.domain(), A.range());
      const auto a = columns_of<double>({7, 5}, 1);
      const auto b = columns_of<double>({6, 7}, 1);
      check_operator(B * A, Expected<double>(6, 5, [&](index_t row, index_t column) {
                       double sum = 0;
                       for (index_t k = 0; k < 7; ++k) {
                         sum += b.on_real[static_cast<std::size_t>(row * 7 + k)] *
                                a.on_real[static_cast<std::size_t>(k * 5 + column)];
                       }
                       return sum;
                     }));
    }
  });
}

TEST(MatrixMult, scatters_the_replicated_side) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape shape{5, 4};
      for (const int axis : {0, 1}) {
        for (const Device device : {Device::cpu(), other_device()}) {
          const Layout layout =
              Layout::scatter(comm, shape, axis, thirds(shape[axis], comm.size())).on(device);
          const auto A =
              matrix_mult(make_array<T>(layout, seed), {.other = {2}, .scattered = true});
          const Layout& even = axis == 0 ? A.domain() : A.range();
          EXPECT_EQ(even, Layout::scatter(comm, {shape[1 - axis], 2}).on(device));
          check_operator(A, columns_of<T>(shape, 2));
        }
      }
    });
  });
}

TEST(MatrixMult, multiplies_along_any_axis) {
  on_ranks([](Comm comm) {
    using T = std::complex<float>;
    const Shape shape{3, 2, 4};
    for (int axis = 0; axis < 3; ++axis) {
      const auto expected = along_axis<T>(shape, axis, 5);
      const Shape matrix{5, shape[axis]};
      for_operator_layouts<T>(comm, shape, [&](const Layout& model) {
        for (int rank = 0; rank < model.comm().size(); ++rank) {
          if (model.box(rank).shape[axis] != shape[axis]) return;
        }
        const auto A = make_array<T>(Layout::local(matrix).on(model.device()), seed);
        check_operator(matrix_mult(A, model, {.axis = axis - 3}), expected);
      });
      const Layout model = Layout::replicated(comm, shape);
      const auto A = make_array<T>(Layout::replicated(comm, matrix), seed);
      check_operator(matrix_mult(A, model, {.axis = axis}), expected);
    }
  });
}

TEST(MatrixMult, summa_matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Index& grid : grids(comm.size())) {
        const Layout layout = Layout::bricks(comm, {5, 9}, grid);
        const auto A = summa(make_array<T>(layout, seed), {.columns = 3});
        EXPECT_EQ(A.domain(), Layout::bricks(comm, {9, 3}, grid));
        EXPECT_EQ(A.range(), Layout::bricks(comm, {5, 3}, grid));
        check_operator(A, columns_of<T>({5, 9}, 3));
      }
    });
    using T = std::complex<float>;
    for_operator_layouts<T>(comm, {6, 4}, [&](const Layout& layout) {
      check_operator(summa(make_array<T>(layout, seed)), columns_of<T>({6, 4}, 1));
    });
  });
}

TEST(MatrixMult, communicates_as_documented) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    using T = float;
    const index_t one = comm.size() > 1 ? 1 : 0;
    const auto by = [&](const Layout& A, bool scattered = false) {
      return matrix_mult(make_array<T>(A), {.other = {2}, .scattered = scattered});
    };
    const Layout all = Layout::replicated(comm, {6, 8});
    const Layout rows = Layout::scatter(comm, {6, 8});
    const Layout columns = Layout::scatter(comm, {6, 8}, 1);
    expect_calls(by(all), all, 0, 0);
    expect_calls(by(rows), rows, 0, one);
    expect_calls(by(columns), columns, one, 0);
    expect_calls(by(rows, true), rows, one, one);
    expect_calls(by(columns, true), columns, one, one);
    for (const Index& grid : grids(comm.size())) {
      const Layout bricks = Layout::bricks(comm, {6, 8}, grid);
      expect_calls(by(bricks), bricks, grid[1] > 1 ? 1 : 0, grid[0] > 1 ? 1 : 0);
      // A panel ends where a part of A's columns or of the model's rows does.
      const index_t panels = [&] {
        const Layout model = Layout::bricks(comm, {8, 2}, grid);
        std::vector<index_t> ends;
        for (const auto splits : {bricks.splits(1), model.splits(0)}) {
          ends.insert(ends.end(), splits.begin(), splits.end());
        }
        std::sort(ends.begin(), ends.end());
        return std::unique(ends.begin(), ends.end()) - ends.begin() - 1;
      }();
      EXPECT_LE(panels, grid[0] + grid[1] - 1);
      const index_t calls = panels * ((grid[0] > 1 ? 1 : 0) + (grid[1] > 1 ? 1 : 0));
      expect_calls(summa(make_array<T>(bricks), {.columns = 2}), bricks, calls, calls);
    }
  });
}

TEST(MatrixMult, allocates_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto check = [&](const auto& a) {
      SCOPED_TRACE(a.describe());
      auto x = make_array<double>(a.domain());
      auto y = make_array<double>(a.range());
      expect_no_allocation(comm, [&] {
        a.forward(x, y);
        a.adjoint(y, x, {0.5, 0.5});
      });
    };
    const auto A = [](const Layout& layout) { return make_array<double>(layout, seed); };
    const Layout bricks = Layout::bricks(comm, {6, 7}, wide_grid(comm.size(), 2));
    check(matrix_mult(A(bricks), {.other = {3}}));
    check(matrix_mult(A(Layout::scatter(comm, {6, 7})), {.scattered = true}));
    check(matrix_mult(A(Layout::scatter(comm, {6, 7}, 1)), {.scattered = true}));
    check(matrix_mult(A(Layout::local({6, 7})), Layout::scatter(comm, {7, 4}, 1)));
    check(summa(A(bricks), {.columns = 3}));
  });
}

TEST(MatrixMult, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto rows = make_array<double>(Layout::scatter(comm, {8, 6}));
    const auto A = matrix_mult(rows);
    const auto x = make_array<double>(Layout::replicated(comm, {7}));
    auto y = make_array<double>(A.range());
    expect_error<ArgumentError>(comm, {"matrix_mult", "(6)", "(7)"}, [&] { A.forward(x, y); });
    const auto cube = make_array<double>(Layout::scatter(comm, {2, 3, 4}));
    expect_error<ArgumentError>(comm, {"two axes", "(2, 3, 4)"}, [&] { matrix_mult(cube); });
    expect_error<ArgumentError>(comm, {"summa", "two axes", "(2, 3, 4)"}, [&] { summa(cube); });
    expect_error<ArgumentError>(comm, {"summa", "-1"}, [&] { summa(rows, {.columns = -1}); });
    const auto all = make_array<double>(Layout::replicated(comm, {8, 6}));
    expect_error<ArgumentError>(comm, {"axis 0", "(8, 6)", "(5, 4)"}, [&] {
      matrix_mult(all, Layout::scatter(comm, {5, 4}, 1));
    });
    expect_error<ArgumentError>(comm, {"matrix_mult", "2"}, [&] {
      matrix_mult(all, Layout::replicated(comm, {6, 4}), {.axis = 2});
    });
    if (comm.size() == 1) return;
    expect_error<ArgumentError>(comm, {"axis 0", "distributed", "(6, 4)"}, [&] {
      matrix_mult(all, Layout::scatter(comm, {6, 4}));
    });
    expect_error<ArgumentError>(comm, {"whole matrix", "(8, 6)"}, [&] {
      matrix_mult(rows, Layout::scatter(comm, {6, 4}, 1));
    });
    expect_error<ArgumentError>(comm, {"scattered", "(8, 6)"},
                                [&] { matrix_mult(all, {.scattered = true}); });
  });
}

}  // namespace weft::test
