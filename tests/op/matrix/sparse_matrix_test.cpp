#include <weft/op/matrix/sparse_matrix.hpp>

#include "op/support/check_operator.hpp"
#include "support/allocations.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

#include <algorithm>
#include <limits>

namespace weft::test {
namespace {

/// A matrix with an empty row, a full row, and about a quarter of the other entries.
template <class T>
T entry(index_t row, index_t column) {
  if (row == 2) return T{};
  if (row != 5 && (row * 7 + column * 3) % 4 != 1) return T{};
  return value<T>(row * 100 + column, 11);
}

/// Rows [begin, end) of the matrix.
template <class T>
CsrMatrix<T> csr(index_t begin, index_t end, index_t columns) {
  CsrMatrix<T> matrix;
  for (index_t row = begin; row < end; ++row) {
    for (index_t column = 0; column < columns; ++column) {
      if (entry<T>(row, column) == T{}) continue;
      matrix.columns.push_back(column);
      matrix.values.push_back(entry<T>(row, column));
    }
    matrix.row_begins.push_back(std::ssize(matrix.values));
  }
  return matrix;
}

/// The same as a list from the last entry to the first, where every entry comes in two parts.
template <class T>
CooMatrix<T> coo(index_t begin, index_t end, index_t columns) {
  CooMatrix<T> matrix;
  for (const T part : {T{3}, T{-2}}) {
    for (index_t row = end - 1; row >= begin; --row) {
      for (index_t column = columns - 1; column >= 0; --column) {
        if (entry<T>(row, column) == T{}) continue;
        matrix.rows.push_back(row);
        matrix.columns.push_back(column);
        matrix.values.push_back(part * entry<T>(row, column));
      }
    }
  }
  return matrix;
}

template <class T>
Expected<T> matrix_of(index_t rows, index_t columns) {
  return {rows, columns, [](index_t row, index_t column) { return entry<T>(row, column); }};
}

/// The rows of this rank.
std::pair<index_t, index_t> own_rows(const Layout& range) {
  const index_t inner = range.shape().count(1, range.ndim());
  return {range.box().offset[0] * inner, range.box().end(0) * inner};
}

/// A given as a whole and by rows, in both forms.
template <class T>
void check_all_forms(const Layout& domain, const Layout& range) {
  SCOPED_TRACE(to_string(domain) + " to " + to_string(range));
  const auto expected = matrix_of<T>(range.count(), domain.count());
  const auto [begin, end] = own_rows(range);
  check_operator(sparse_matrix(csr<T>(0, range.count(), domain.count()), domain, range), expected);
  check_operator(sparse_matrix(coo<T>(0, range.count(), domain.count()), domain, range), expected);
  const SparseMatrixOptions own{.own_rows = true};
  check_operator(sparse_matrix(csr<T>(begin, end, domain.count()), domain, range, own), expected);
  check_operator(sparse_matrix(coo<T>(begin, end, domain.count()), domain, range, own), expected);
}

bool is_cut_by_rows(const Layout& layout) { return !layout.is_cut_anywhere(1); }

/// Rows of a matrix with entries 1, -2, 1 around the diagonal, and its layout: n rows per rank.
CsrMatrix<double> tridiagonal(index_t n) {
  CsrMatrix<double> matrix;
  for (index_t row = 0; row < n; ++row) {
    for (index_t column = std::max<index_t>(row - 1, 0); column <= std::min(row + 1, n - 1);
         ++column) {
      matrix.columns.push_back(column);
      matrix.values.push_back(row == column ? -2 : 1);
    }
    matrix.row_begins.push_back(std::ssize(matrix.values));
  }
  return matrix;
}

}  // namespace

TEST(SparseMatrix, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_operator_layouts<T>(comm, {13, 2}, [&](const Layout& range) {
        if (!is_cut_by_rows(range)) return;
        const auto replicated = replicated_like(range, {9});
        check_all_forms<T>(replicated, range);
        if (!range.is_replicated()) check_all_forms<T>(recut_evenly(range, 0, 9), range);
      });
    });
  });
}

TEST(SparseMatrix, handles_few_and_no_elements) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    const auto layout = [&](index_t n) { return Layout::scatter(comm, {n}); };
    for (const auto& [rows, columns] : {std::pair<index_t, index_t>{1, 1},
                                        {7, 1},
                                        {1, 7},
                                        {2, 3},
                                        {0, 4},
                                        {4, 0},
                                        {0, 0},
                                        {3, 40},
                                        {40, 3}}) {
      check_all_forms<T>(layout(columns), layout(rows));
    }
    check_all_forms<T>(Layout::on_rank(comm, {9}, comm.size() - 1), layout(11));
    check_all_forms<T>(layout(9), Layout::on_rank(comm, {11}, 0));
    if (comm.size() == 1) return;
    check_all_forms<T>(Layout::scatter(comm, {9}, 0, dealt(9, comm.size(), 0)),
                       Layout::scatter(comm, {11}, 0, thirds(11, comm.size())));
  });
}

TEST(SparseMatrix, adds_repeated_entries_in_order) {
  on_ranks([](Comm comm) {
    // In any other order, the ones are lost.
    const CooMatrix<double> matrix{{0, 0, 0, 0}, {1, 1, 1, 0}, {1e17, -1e17, 1, 5}};
    const auto A =
        sparse_matrix(matrix, Layout::replicated(comm, {2}), Layout::replicated(comm, {1}));
    DistributedArray<double> x(A.domain());
    x.fill([](Index at) { return at[0] == 1 ? 1.0 : 0.0; });
    EXPECT_EQ((A * x).to_host(), std::vector<double>{1});
  });
}

TEST(SparseMatrix, sends_one_message_per_neighbour) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t n = 5 * comm.size();
    const Layout layout = Layout::scatter(comm, {n});
    const auto A = sparse_matrix(tridiagonal(n), layout, layout);
    const index_t neighbours = (comm.rank() > 0 ? 1 : 0) + (comm.rank() + 1 < comm.size() ? 1 : 0);
    auto x = make_array<double>(layout);
    auto y = make_array<double>(layout);
    EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), 2 * neighbours);
    EXPECT_EQ(comm.stats().total().bytes, neighbours * index_t{sizeof(double)});
    EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), 2 * neighbours);
    EXPECT_EQ(A.cost().messages, static_cast<double>(neighbours));
    EXPECT_EQ(A.adjoint_cost().messages, static_cast<double>(neighbours));
    EXPECT_EQ(A.cost().flops, 2.0 * static_cast<double>(3 * 5 - (comm.rank() == 0 ? 1 : 0) -
                                                        (comm.rank() + 1 == comm.size() ? 1 : 0)));
    const auto B = sparse_matrix(tridiagonal(n), Layout::replicated(comm, {n}), layout);
    auto z = make_array<double>(B.domain());
    const index_t one = comm.size() > 1 ? 1 : 0;
    EXPECT_EQ(calls_of(comm, [&] { B.forward(z, y); }), 0);
    EXPECT_EQ(calls_of(comm, [&] { B.adjoint(y, z, {2, 3}); }), one);
    EXPECT_EQ(B.adjoint_cost().messages, static_cast<double>(one));
  });
}

TEST(SparseMatrix, allocates_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    using T = std::complex<float>;
    const Layout range = Layout::scatter(comm, {13});
    for (const Layout& domain : {Layout::scatter(comm, {9}), Layout::replicated(comm, {9})}) {
      const auto A = sparse_matrix(csr<T>(0, 13, 9), domain, range);
      auto x = make_array<T>(domain);
      auto y = make_array<T>(range);
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.forward(x, y, {2, 1});
        A.adjoint(y, x);
        A.adjoint(y, x, {0, 1});
      });
    }
  });
}

TEST(SparseMatrix, names_bad_entries) {
  on_ranks([](Comm comm) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const Layout domain = Layout::scatter(comm, {3});
    const Layout range = Layout::scatter(comm, {2});
    const auto expect = [&](const std::vector<std::string>& words,
                            const CsrMatrix<double>& matrix) {
      expect_error<ArgumentError>(comm, words, [&] { sparse_matrix(matrix, domain, range); });
    };
    expect({"sparse_matrix", "2 row_begins", "2 rows"}, {{0, 1}, {0}, {1}});
    expect({"0 row_begins"}, {{}, {}, {}});
    expect({"2 columns", "1 values"}, {{0, 1, 2}, {0, 1}, {1}});
    expect({"row_begins[0] is 1"}, {{1, 1, 2}, {0, 1}, {1, 2}});
    expect({"not decrease", "row 1 begins at 3 and ends at 2"}, {{0, 3, 2}, {0, 1}, {1, 2}});
    expect({"last of row_begins is 1", "2 values"}, {{0, 1, 1}, {0, 1}, {1, 2}});
    expect({"row 1", "column 3", "3 columns"}, {{0, 1, 2}, {0, 3}, {1, 2}});
    expect({"row 0", "column -1"}, {{0, 1, 2}, {-1, 2}, {1, 2}});
    expect({"row 1", "column 0 follows 2", "CooMatrix"}, {{0, 1, 3}, {0, 2, 0}, {1, 2, 3}});
    expect({"row 1", "column 2 follows 2"}, {{0, 1, 3}, {0, 2, 2}, {1, 2, 3}});
    expect({"row 1", "column 2", "nan", "finite"}, {{0, 1, 2}, {0, 2}, {1, nan}});
    const auto expect_list = [&](const std::vector<std::string>& words,
                                 const CooMatrix<double>& matrix) {
      expect_error<ArgumentError>(comm, words, [&] { sparse_matrix(matrix, domain, range); });
    };
    expect_list({"1 rows", "2 columns", "1 values"}, {{0}, {0, 1}, {1}});
    expect_list({"entry 1 is in row 2", "rows 0 to 1"}, {{0, 2}, {0, 1}, {1, 2}});
    expect_list({"row 1", "column 7"}, {{0, 1}, {0, 7}, {1, 2}});
    expect_list({"row 1", "column 1", "nan"}, {{0, 1}, {0, 1}, {1, nan}});
    const CsrMatrix<std::complex<double>> z{{0, 1, 2}, {0, 2}, {1, {2, nan}}};
    expect_error<ArgumentError>(comm, {"row 1", "(2, nan)"},
                                [&] { sparse_matrix(z, domain, range); });
  });
}

TEST(SparseMatrix, reports_bad_rows_of_one_rank_on_all) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const Layout layout = Layout::scatter(comm, {2 * comm.size()});
    const bool last = comm.rank() + 1 == comm.size();
    const index_t first = 2 * comm.rank();
    const CsrMatrix<double> rows{{0, 1, 2}, {first, last ? -4 : first}, {1, 2}};
    expect_error<AgreedError>(comm,
                              {fmt::format("rank {}", comm.size() - 1),
                               fmt::format("row {}", 2 * comm.size() - 1), "column -4"},
                              [&] { sparse_matrix(rows, layout, layout, {.own_rows = true}); });
    const CooMatrix<double> list{{last ? 0 : first}, {0}, {1}};
    expect_error<AgreedError>(
        comm, {"entry 0 is in row 0", fmt::format("rows {} to", 2 * (comm.size() - 1))},
        [&] { sparse_matrix(list, layout, layout, {.own_rows = true}); });
    // The whole matrix must be the same on all ranks.
    CsrMatrix<double> whole = tridiagonal(layout.count());
    if (last) whole.values[0] = 3;
    expect_error<AgreedError>(comm, {"sparse_matrix", "hash"},
                              [&] { sparse_matrix(whole, layout, layout); });
  });
}

TEST(SparseMatrix, rejects_bad_layouts) {
  on_ranks([](Comm comm) {
    const CsrMatrix<double> matrix = csr<double>(0, 8, 8);
    const auto expect = [&](const std::vector<std::string>& words, const Layout& domain,
                            const Layout& range) {
      expect_error<ArgumentError>(comm, words, [&] { sparse_matrix(matrix, domain, range); });
    };
    const Layout rows = Layout::scatter(comm, {8});
    expect({"sparse_matrix", "the model is a stack"}, Layout::stack({rows}), rows);
    expect({"9 row_begins", "7 rows"}, rows, Layout::scatter(comm, {7}));
    expect({"same ranks and device", "debug"}, rows.on({DeviceKind::debug}), rows);
    if (comm.size() == 1) return;
    expect({"the data must be distributed along axis 0", "(4, 2)"}, rows,
           Layout::scatter(comm, {4, 2}, 1));
    expect({"the data is replicated", "the model is"}, rows, Layout::replicated(comm, {8}));
    expect({"another communicator"}, Layout::local({8}), rows);
    if (comm.size() < 3) return;
    expect({"same ranks"}, rows, rows.within(even_and_odd(comm.size())));
  });
}

}  // namespace weft::test
