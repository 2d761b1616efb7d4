#include "op/matrix/sparse_rows.hpp"

#include <weft/core/format.hpp>

#include "core/hash.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

namespace weft::detail {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

template <class T>
bool is_finite(T value) {
  return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
}

template <class T>
std::string text_of(T value) {
  if constexpr (is_complex<T>) return fmt::format("({}, {})", value.real(), value.imag());
  return fmt::format("{}", std::real(value));
}

/// The error in one entry; empty if there is none.
template <class T>
std::string error_in_entry(index_t row, index_t column, T value, index_t columns) {
  if (column < 0 || column >= columns) {
    return fmt::format("row {} has an entry in column {}, but there are {} columns", row, column,
                       columns);
  }
  if (!is_finite(value)) {
    return fmt::format("the entry in row {} and column {} is {}, but must be finite", row, column,
                       text_of(value));
  }
  return {};
}

template <class T>
std::string error_in_begins(const CsrMatrix<T>& matrix, ElementRange rows) {
  const std::vector<index_t>& begins = matrix.row_begins;
  if (matrix.rows() != rows.count()) {
    return fmt::format("{} row_begins for {} rows; there must be one more than rows", begins.size(),
                       rows.count());
  }
  if (matrix.columns.size() != matrix.values.size()) {
    return fmt::format("{} columns, but {} values", matrix.columns.size(), matrix.values.size());
  }
  if (begins.front() != 0) return fmt::format("row_begins[0] is {}, but must be 0", begins.front());
  for (index_t row = 0; row < rows.count(); ++row) {
    if (begins[at(row + 1)] < begins[at(row)]) {
      return fmt::format("row_begins must not decrease, but row {} begins at {} and ends at {}",
                         rows.begin + row, begins[at(row)], begins[at(row + 1)]);
    }
  }
  if (begins.back() != std::ssize(matrix.values)) {
    return fmt::format("the last of row_begins is {}, but there are {} values", begins.back(),
                       matrix.values.size());
  }
  return {};
}

template <Scalar T>
void add_values(Hash& hash, const std::vector<T>& values) {
  for (const T value : values) {
    hash.add(std::bit_cast<std::uint64_t>(static_cast<double>(std::real(value))));
    if constexpr (is_complex<T>)
      hash.add(std::bit_cast<std::uint64_t>(static_cast<double>(std::imag(value))));
  }
}

void add_numbers(Hash& hash, const std::vector<index_t>& numbers) {
  hash.add(std::ssize(numbers));
  for (const index_t number : numbers) hash.add(number);
}

}  // namespace

template <Scalar T>
std::string error_in(const CsrMatrix<T>& matrix, ElementRange rows, index_t columns) {
  std::string error = error_in_begins(matrix, rows);
  for (index_t i = 0; i < rows.count() && error.empty(); ++i) {
    const index_t begin = matrix.row_begins[at(i)];
    for (index_t j = begin; j < matrix.row_begins[at(i + 1)] && error.empty(); ++j) {
      const index_t column = matrix.columns[at(j)];
      error = error_in_entry(rows.begin + i, column, matrix.values[at(j)], columns);
      if (!error.empty() || j == begin || column > matrix.columns[at(j - 1)]) continue;
      error = fmt::format(
          "columns of a row must ascend, but in row {} column {} follows {}; a CooMatrix may have "
          "them in any order",
          rows.begin + i, column, matrix.columns[at(j - 1)]);
    }
  }
  return error;
}

template <Scalar T>
std::string error_in(const CooMatrix<T>& matrix, ElementRange rows, index_t columns) {
  if (matrix.rows.size() != matrix.values.size() || matrix.columns.size() != matrix.values.size()) {
    return fmt::format("{} rows and {} columns for {} values", matrix.rows.size(),
                       matrix.columns.size(), matrix.values.size());
  }
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    if (matrix.rows[i] < rows.begin || matrix.rows[i] >= rows.end) {
      return fmt::format("entry {} is in row {}, but must be in rows {} to {}", i, matrix.rows[i],
                         rows.begin, rows.end - 1);
    }
    std::string error =
        error_in_entry(matrix.rows[i], matrix.columns[i], matrix.values[i], columns);
    if (!error.empty()) return error;
  }
  return {};
}

template <Scalar T>
CsrMatrix<T> take_rows(const CsrMatrix<T>& matrix, ElementRange rows, index_t first) {
  CsrMatrix<T> taken;
  const index_t begin = matrix.row_begins[at(rows.begin - first)];
  const index_t end = matrix.row_begins[at(rows.end - first)];
  for (index_t row = rows.begin; row < rows.end; ++row)
    taken.row_begins.push_back(matrix.row_begins[at(row - first + 1)] - begin);
  taken.columns.assign(matrix.columns.begin() + begin, matrix.columns.begin() + end);
  taken.values.assign(matrix.values.begin() + begin, matrix.values.begin() + end);
  return taken;
}

template <Scalar T>
CsrMatrix<T> take_rows(const CooMatrix<T>& matrix, ElementRange rows, index_t) {
  std::vector<index_t> order;
  for (index_t i = 0; i < std::ssize(matrix.values); ++i) {
    if (matrix.rows[at(i)] >= rows.begin && matrix.rows[at(i)] < rows.end) order.push_back(i);
  }
  const auto place = [&](index_t i) {
    return std::pair(matrix.rows[at(i)], matrix.columns[at(i)]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](index_t a, index_t b) { return place(a) < place(b); });
  CsrMatrix<T> taken;
  taken.row_begins.assign(at(rows.count() + 1), 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const T value = matrix.values[at(order[k])];
    if (k > 0 && place(order[k]) == place(order[k - 1])) {
      taken.values.back() += value;
      continue;
    }
    taken.columns.push_back(matrix.columns[at(order[k])]);
    taken.values.push_back(value);
    ++taken.row_begins[at(matrix.rows[at(order[k])] - rows.begin + 1)];
  }
  std::partial_sum(taken.row_begins.begin(), taken.row_begins.end(), taken.row_begins.begin());
  return taken;
}

template <Scalar T>
std::uint64_t hash_of(const CsrMatrix<T>& matrix) {
  Hash hash;
  add_numbers(hash, matrix.row_begins);
  add_numbers(hash, matrix.columns);
  add_values(hash, matrix.values);
  return hash.value();
}

template <Scalar T>
std::uint64_t hash_of(const CooMatrix<T>& matrix) {
  Hash hash;
  add_numbers(hash, matrix.rows);
  add_numbers(hash, matrix.columns);
  add_values(hash, matrix.values);
  return hash.value();
}

template <Scalar T>
DividedRows<T> divide(const CsrMatrix<T>& rows, ElementRange own_columns) {
  const auto is_own = [&](index_t column) {
    return column >= own_columns.begin && column < own_columns.end;
  };
  DividedRows<T> divided;
  for (const index_t column : rows.columns) {
    if (!is_own(column)) divided.ghosts.push_back(column);
  }
  std::sort(divided.ghosts.begin(), divided.ghosts.end());
  divided.ghosts.erase(std::unique(divided.ghosts.begin(), divided.ghosts.end()),
                       divided.ghosts.end());
  const auto add = [](CsrMatrix<T>& to, index_t column, T value) {
    to.columns.push_back(column);
    to.values.push_back(value);
  };
  divided.own.row_begins.reserve(rows.row_begins.size());
  divided.own.columns.reserve(rows.columns.size());
  divided.own.values.reserve(rows.values.size());
  for (index_t row = 0; row < rows.rows(); ++row) {
    for (index_t j = rows.row_begins[at(row)]; j < rows.row_begins[at(row + 1)]; ++j) {
      const index_t column = rows.columns[at(j)];
      if (is_own(column)) {
        add(divided.own, column - own_columns.begin, rows.values[at(j)]);
        continue;
      }
      const auto ghost = std::lower_bound(divided.ghosts.begin(), divided.ghosts.end(), column);
      add(divided.with_ghosts, ghost - divided.ghosts.begin(), rows.values[at(j)]);
    }
    divided.own.row_begins.push_back(std::ssize(divided.own.values));
    if (std::ssize(divided.with_ghosts.values) == divided.with_ghosts.row_begins.back()) continue;
    divided.with_ghosts.row_begins.push_back(std::ssize(divided.with_ghosts.values));
    divided.ghost_rows.push_back(row);
  }
  return divided;
}

template <Scalar T>
CsrMatrix<T> transposed(const CsrMatrix<T>& matrix, index_t columns,
                        const std::vector<index_t>& row_numbers) {
  CsrMatrix<T> result;
  result.row_begins.assign(at(columns + 1), 0);
  for (const index_t column : matrix.columns) ++result.row_begins[at(column + 1)];
  std::partial_sum(result.row_begins.begin(), result.row_begins.end(), result.row_begins.begin());
  result.columns.resize(matrix.columns.size());
  result.values.resize(matrix.values.size());
  std::vector<index_t> next(result.row_begins.begin(), result.row_begins.end() - 1);
  for (index_t row = 0; row < matrix.rows(); ++row) {
    for (index_t j = matrix.row_begins[at(row)]; j < matrix.row_begins[at(row + 1)]; ++j) {
      const index_t place = next[at(matrix.columns[at(j)])]++;
      result.columns[at(place)] = row_numbers.empty() ? row : row_numbers[at(row)];
      result.values[at(place)] = matrix.values[at(j)];
    }
  }
  return result;
}

#define INSTANTIATE(T)                                                         \
  template std::string error_in(const CsrMatrix<T>&, ElementRange, index_t);   \
  template std::string error_in(const CooMatrix<T>&, ElementRange, index_t);   \
  template CsrMatrix<T> take_rows(const CsrMatrix<T>&, ElementRange, index_t); \
  template CsrMatrix<T> take_rows(const CooMatrix<T>&, ElementRange, index_t); \
  template std::uint64_t hash_of(const CsrMatrix<T>&);                         \
  template std::uint64_t hash_of(const CooMatrix<T>&);                         \
  template DividedRows<T> divide(const CsrMatrix<T>&, ElementRange);           \
  template CsrMatrix<T> transposed(const CsrMatrix<T>&, index_t, const std::vector<index_t>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
