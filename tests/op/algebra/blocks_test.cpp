#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/zero.hpp>
#include <weft/op/dense_matrix.hpp>
#include <weft/op/dot_test.hpp>

#include <numeric>

namespace weft::test {
namespace {

/// A matrix and its position in a larger one.
template <class D, class R>
struct Placed {
  index_t row;
  index_t column;
  Expected<D, R> matrix;
};

template <class D, class R>
Expected<D, R> assembled(index_t rows, index_t columns, const std::vector<Placed<D, R>>& blocks) {
  const auto entry = [&](const auto& values_of) {
    return [&](index_t row, index_t column) {
      R sum{};
      for (const Placed<D, R>& block : blocks) {
        const index_t i = row - block.row;
        const index_t j = column - block.column;
        if (i < 0 || j < 0 || i >= block.matrix.rows || j >= block.matrix.columns) continue;
        sum += values_of(block)[static_cast<std::size_t>(i * block.matrix.columns + j)];
      }
      return sum;
    };
  };
  return {rows, columns,
          entry([](const auto& block) -> const auto& { return block.matrix.on_real; }),
          entry([](const auto& block) -> const auto& { return block.matrix.on_imag; })};
}

template <class F>
void for_each_pair(F f) {
  f(float{}, float{});
  f(double{}, double{});
  f(std::complex<float>{}, std::complex<float>{});
  f(double{}, std::complex<double>{});
  f(std::complex<float>{}, float{});
}

/// The other device is tested with one type, which is enough to find errors of memory access.
template <class T>
std::vector<Device> devices() {
  if (std::same_as<T, std::complex<float>>) return {Device::cpu(), other_device()};
  return {Device::cpu()};
}

/// Number of operators of a rank in tests over a communicator; some ranks have none.
int operators_of(int rank) { return (rank + 1) % 3; }

}  // namespace

TEST(Blocks, match_block_matrices) {
  on_ranks([](Comm comm) {
    for_each_pair([&](auto in, auto out) {
      using D = decltype(in);
      using R = decltype(out);
      const auto a = some_matrix<D, R>(3, 5, 1);
      const auto b = some_matrix<D, R>(2, 5, 2);
      const auto c = some_matrix<D, R>(3, 4, 3);
      const auto d = some_matrix<D, R>(2, 4, 4);
      for (const Device device : devices<R>()) {
        const Layout x = Layout::scatter(comm, {5}).on(device);
        const Layout z = Layout::stack({Layout::replicated(comm, {2, 2})}).on(device);
        const Layout u = Layout::scatter(comm, {3, 1}).on(device);
        const Layout v = Layout::bricks(comm, {1, 2}).on(device);
        const auto A = some_operator<D, R>(x, u, 1);
        const auto B = some_operator<D, R>(x, v, 2);
        const auto C = some_operator<D, R>(z, u, 3);
        const auto E = some_operator<D, R>(z, v, 4);
        check_operator(vstack({A, B}), assembled<D, R>(5, 5, {{0, 0, a}, {3, 0, b}}));
        check_operator(hstack({A, C}), assembled<D, R>(3, 9, {{0, 0, a}, {0, 5, c}}));
        check_operator(block_diag({A, E}), assembled<D, R>(5, 9, {{0, 0, a}, {3, 5, d}}));
        check_operator(block({{A, C}, {B, E}}),
                       assembled<D, R>(5, 9, {{0, 0, a}, {3, 0, b}, {0, 5, c}, {3, 5, d}}));
        check_operator(block({{A, zero<D, R>(z, u)}, {zero<D, R>(x, v), zero<D, R>(z, v)}}),
                       assembled<D, R>(5, 9, {{0, 0, a}}));
        check_operator(vstack({zero<D, R>(x, u), B}), assembled<D, R>(5, 5, {{3, 0, b}}));
        check_operator(hstack({zero<D, R>(x, u), zero<D, R>(z, u)}), assembled<D, R>(3, 9, {}));
        check_operator(vstack({vstack({A, B}), vstack({A, A})}),
                       assembled<D, R>(11, 5, {{0, 0, a}, {3, 0, b}, {5, 0, a}, {8, 0, a}}));
      }
    });
  });
}

TEST(Blocks, reject_mismatched_operators) {
  on_ranks([](Comm comm) {
    const Layout five = Layout::scatter(comm, {5});
    const Layout four = Layout::scatter(comm, {4});
    const auto A = some_operator<double>(five, four, 1);
    const auto B = adjoint(A);
    const std::vector<std::string> both = {to_string(five), to_string(four)};
    expect_error<ArgumentError>(comm, both, [&] { vstack({A, B}); });
    expect_error<ArgumentError>(comm, both, [&] { hstack({A, B}); });
    expect_error<ArgumentError>(comm, both, [&] { block({{A, B}}); });
    expect_error<ArgumentError>(comm, both, [&] { block({{A}, {B}}); });
    expect_error<ArgumentError>(comm, {"1 operators", "2"}, [&] { block({{A, A}, {A}}); });
    const std::vector<LinearOperator<double>> none;
    expect_error<ArgumentError>(comm, {"vstack"}, [&] { vstack(none); });
    expect_error<ArgumentError>(comm, {"hstack"}, [&] { hstack(none); });
    expect_error<ArgumentError>(comm, {"block_diag"}, [&] { block_diag(none); });
    expect_error<ArgumentError>(comm, {"cpu", to_string(other_device())}, [&] {
      block_diag({A, identity<double>(five.on(other_device()))});
    });
  });
}

// Operator k has k % 3 + 1 rows and k % 2 + 2 columns, or 3 where all must have the same number.
TEST(Blocks, over_ranks_match_block_matrices) {
  on_ranks([](Comm comm) {
    for_each_pair([&](auto in, auto out) {
      using D = decltype(in);
      using R = decltype(out);
      for (const Device device : devices<R>()) {
        std::vector<LinearOperator<D, R>> diagonal;
        std::vector<LinearOperator<D, R>> tall;
        std::vector<LinearOperator<D, R>> wide;
        std::vector<Placed<D, R>> in_diagonal;
        std::vector<Placed<D, R>> in_tall;
        std::vector<Placed<D, R>> in_wide;
        index_t row = 0;
        index_t column = 0;
        int k = 0;
        for (int rank = 0; rank < comm.size(); ++rank) {
          for (int mine = 0; mine < operators_of(rank); ++mine, ++k) {
            const index_t m = k % 3 + 1;
            const index_t n = k % 2 + 2;
            in_diagonal.push_back({row, column, some_matrix<D, R>(m, n, k)});
            in_tall.push_back({row, 0, some_matrix<D, R>(m, 3, k)});
            in_wide.push_back({0, column, some_matrix<D, R>(3, n, k)});
            row += m;
            column += n;
            if (rank != comm.rank()) continue;
            const auto local = [&](index_t count) { return Layout::local({count}).on(device); };
            diagonal.push_back(some_operator<D, R>(local(n), local(m), k));
            tall.push_back(some_operator<D, R>(local(3), local(m), k));
            wide.push_back(some_operator<D, R>(local(n), local(3), k));
          }
        }
        const Comm on_device = comm.on(device);  // for ranks without operators
        check_operator(block_diag(on_device, diagonal), assembled<D, R>(row, column, in_diagonal));
        check_operator(vstack(on_device, tall), assembled<D, R>(row, 3, in_tall));
        check_operator(hstack(on_device, wide), assembled<D, R>(3, column, in_wide));
      }
    });
  });
}

TEST(Blocks, over_ranks_have_expected_layouts) {
  on_ranks([](Comm comm) {
    const Layout grid = Layout::local({2, 3});
    const Layout two = Layout::stack({grid, Layout::local({4})});
    const std::vector<LinearOperator<double>> mine = {zero<double>(two, grid),
                                                      zero<double>(two, Layout::local({1}))};
    const index_t ranks = comm.size();
    const auto tall = vstack(comm, mine);
    EXPECT_EQ(tall.domain(),
              Layout::stack({Layout::replicated(comm, {2, 3}), Layout::replicated(comm, {4})}));
    EXPECT_EQ(tall.range(), Layout::scatter(comm, {7 * ranks}));
    const auto diagonal = block_diag(comm, mine);
    EXPECT_EQ(diagonal.domain(), Layout::scatter(comm, {20 * ranks}));
    EXPECT_EQ(diagonal.range(), Layout::scatter(comm, {7 * ranks}));
    // Operators on stacks receive the parts of the stack.
    const auto A = vstack(comm, {some_operator<float>(two, grid, 1)});
    std::vector<Placed<float, float>> blocks;
    for (index_t rank = 0; rank < ranks; ++rank) {
      blocks.push_back({6 * rank, 0, some_matrix<float>(6, 10, 1)});
    }
    check_operator(A, assembled<float, float>(6 * ranks, 10, blocks));
  });
}

// Ranks that disagreed on these properties would make different collective calls.
TEST(Blocks, over_ranks_have_the_same_properties_on_all_ranks) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    const Layout three = Layout::local({3});
    const bool last = comm.rank() == comm.size() - 1;
    const auto for_each_stack = [&](const std::vector<LinearOperator<T>>& mine, const auto& f) {
      f(block_diag(comm, mine));
      f(vstack(comm, mine));
      f(hstack(comm, mine));
    };
    for_each_stack({identity<T>(three)}, [](const LinearOperator<T>& a) {
      EXPECT_TRUE(a.is_complex_linear());
      EXPECT_TRUE(a.capturable());
    });
    for_each_stack({last ? conjugation<T>(three) : identity<T>(three)},
                   [&](const LinearOperator<T>& a) {
                     EXPECT_FALSE(a.is_complex_linear());
                     EXPECT_TRUE(a.capturable());
                     EXPECT_TRUE(dot_test(a)) << a.describe();
                     expect_error<ArgumentError>(comm, {"real-linear"}, [&] { todense(a); });
                   });
    for_each_stack({last ? some_operator<T>(three, three, 1) : identity<T>(three)},
                   [](const LinearOperator<T>& a) {
                     EXPECT_TRUE(a.is_complex_linear());
                     EXPECT_FALSE(a.capturable());
                   });
  });
}

TEST(Blocks, over_ranks_reject_mismatched_operators) {
  on_ranks([](Comm comm) {
    using Operators = std::vector<LinearOperator<double>>;
    const Layout three = Layout::local({3});
    const Layout four = Layout::local({2, 2});
    const auto A = identity<double>(three);
    const auto B = identity<double>(four);
    const bool last = comm.rank() == comm.size() - 1;
    // Only one rank passes invalid operators, and all ranks throw.
    expect_error<AgreedError>(comm, {to_string(three), to_string(four)}, [&] {
      vstack(comm, last ? Operators{A, B} : Operators{A});
    });
    expect_error<AgreedError>(comm, {"hstack", "range", to_string(three), to_string(four)}, [&] {
      hstack(comm, last ? Operators{A, B} : Operators{A});
    });
    expect_error<AgreedError>(comm, {"cpu", to_string(other_device())}, [&] {
      block_diag(comm,
                 last ? Operators{A, identity<double>(four.on(other_device()))} : Operators{A});
    });
    expect_error<ArgumentError>(comm, {"vstack: no rank"}, [&] { vstack(comm, Operators{}); });
    expect_error<ArgumentError>(comm, {"hstack: no rank"}, [&] { hstack(comm, Operators{}); });
    if (comm.size() == 1) return;
    expect_error<ArgumentError>(comm, {"vstack", "rank 0 have domain", "(3)", "(2, 2)"},
                                [&] { vstack(comm, last ? Operators{B} : Operators{A}); });
    expect_error<ArgumentError>(comm, {"hstack", "rank 0 have range", "(3)", "(2, 2)"},
                                [&] { hstack(comm, last ? Operators{B} : Operators{A}); });
    // The default device of the last rank, which has no operators, is not that of the others.
    const Comm on_cpu = comm.on(Device::cpu());
    const std::string other(to_string(other_device().kind));
    expect_error<ArgumentError>(comm, {"block_diag", "cpu", other}, [&] {
      block_diag(on_cpu,
                 last ? Operators{} : Operators{identity<double>(three.on(other_device()))});
    });
    const Layout shared = Layout::scatter(comm, {3});
    expect_error<AgreedError>(comm, {to_string(shared), "local"}, [&] {
      block_diag(comm, last ? Operators{identity<double>(shared)} : Operators{A});
    });
  });
}

}  // namespace weft::test
