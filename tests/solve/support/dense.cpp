#include "solve/support/dense.hpp"

#include <weft/op/matrix/matrix_mult.hpp>

namespace weft::test {
namespace {

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

struct Factors {
  RealMatrix q;
  RealMatrix r;
};

/// A = Q R. The second round makes the columns of Q orthonormal to rounding.
Factors factorize(const RealMatrix& a) {
  Factors factors{a, RealMatrix(a.columns, a.columns)};
  RealMatrix& q = factors.q;
  RealMatrix& r = factors.r;
  const auto dot = [&](index_t i, index_t j) {
    double sum = 0;
    for (index_t row = 0; row < q.rows; ++row) sum += q(row, i) * q(row, j);
    return sum;
  };
  for (index_t j = 0; j < q.columns; ++j) {
    for (int round = 0; round < 2; ++round) {
      for (index_t i = 0; i < j; ++i) {
        const double along = dot(i, j);
        r(i, j) += along;
        for (index_t row = 0; row < q.rows; ++row) q(row, j) -= along * q(row, i);
      }
    }
    r(j, j) = std::sqrt(dot(j, j));
    for (index_t row = 0; row < q.rows; ++row) q(row, j) /= r(j, j);
  }
  return factors;
}

/// A stacked on damp times the identity.
RealMatrix with_damping(const RealMatrix& a, double damp) {
  RealMatrix all(a.rows + a.columns, a.columns);
  std::copy(a.values.begin(), a.values.end(), all.values.begin());
  for (index_t i = 0; i < a.columns; ++i) all(a.rows + i, i) = damp;
  return all;
}

std::vector<double> solve_tall(const RealMatrix& a, const std::vector<double>& y) {
  const auto [q, r] = factorize(a);
  std::vector<double> x = product(transposed(q), y);
  for (index_t i = r.columns - 1; i >= 0; --i) {
    for (index_t j = i + 1; j < r.columns; ++j) x[at(i)] -= r(i, j) * x[at(j)];
    x[at(i)] /= r(i, i);
  }
  return x;
}

/// The shortest solution: x = Q z with Rᵀ z = y, where Aᵀ = Q R.
std::vector<double> solve_wide(const RealMatrix& a, const std::vector<double>& y) {
  const auto [q, r] = factorize(transposed(a));
  std::vector<double> z = y;
  for (index_t i = 0; i < r.columns; ++i) {
    for (index_t j = 0; j < i; ++j) z[at(i)] -= r(j, i) * z[at(j)];
    z[at(i)] /= r(i, i);
  }
  return product(q, z);
}

std::vector<index_t> nonzero_columns(const RealMatrix& a) {
  std::vector<index_t> columns;
  for (index_t j = 0; j < a.columns; ++j) {
    double size = 0;
    for (index_t i = 0; i < a.rows; ++i) size += std::abs(a(i, j));
    if (size > 0) columns.push_back(j);
  }
  return columns;
}

}  // namespace

RealMatrix transposed(const RealMatrix& a) {
  RealMatrix t(a.columns, a.rows);
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  }
  return t;
}

RealMatrix product(const RealMatrix& a, const RealMatrix& b) {
  RealMatrix c(a.rows, b.columns);
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t k = 0; k < a.columns; ++k) {
      for (index_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

std::vector<double> product(const RealMatrix& a, const std::vector<double>& x) {
  std::vector<double> y(at(a.rows));
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = 0; j < a.columns; ++j) y[at(i)] += a(i, j) * x[at(j)];
  }
  return y;
}

std::vector<double> plus(const std::vector<double>& a, double factor,
                         const std::vector<double>& b) {
  std::vector<double> sum = a;
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

double size_of_vector(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

RealMatrix some_real_matrix(index_t rows, index_t columns, int seed) {
  RealMatrix matrix(rows, columns);
  matrix.values = some_vector(rows * columns, 100 + seed);
  return matrix;
}

std::vector<double> some_vector(index_t size, int seed) {
  std::vector<double> values(at(size));
  for (index_t i = 0; i < size; ++i) values[at(i)] = value<double>(i, seed);
  return values;
}

RealMatrix some_orthonormal(index_t rows, index_t columns, int seed) {
  return factorize(some_real_matrix(rows, columns, seed)).q;
}

RealMatrix matrix_of_condition(index_t rows, index_t columns, double condition) {
  const index_t rank = std::min(rows, columns);
  RealMatrix scaled = some_orthonormal(rows, rank, 1);
  for (index_t j = 0; j < rank; ++j) {
    const double share = rank > 1 ? static_cast<double>(j) / static_cast<double>(rank - 1) : 0;
    for (index_t i = 0; i < rows; ++i) scaled(i, j) *= std::pow(condition, -share);
  }
  return product(scaled, transposed(some_orthonormal(columns, rank, 2)));
}

std::vector<double> least_squares(const RealMatrix& a, const std::vector<double>& y, double damp) {
  const std::vector<index_t> used = nonzero_columns(a);
  RealMatrix b(a.rows, static_cast<index_t>(used.size()));
  for (index_t j = 0; j < b.columns; ++j) {
    for (index_t i = 0; i < a.rows; ++i) b(i, j) = a(i, used[at(j)]);
  }
  std::vector<double> found;
  if (damp != 0) {
    std::vector<double> all = y;
    all.resize(at(b.rows + b.columns));
    found = solve_tall(with_damping(b, damp), all);
  } else {
    found = b.rows >= b.columns ? solve_tall(b, y) : solve_wide(b, y);
  }
  std::vector<double> x(at(a.columns));
  for (std::size_t j = 0; j < used.size(); ++j) x[at(used[j])] = found[j];
  return x;
}

LinearOperator<double> operator_of(const Comm& comm, const RealMatrix& matrix, Device device) {
  const Layout layout = Layout::scatter(comm, {matrix.rows, matrix.columns}).on(device);
  return matrix_mult(DistributedArray<double>::from_global(layout, matrix.values),
                     {.scattered = true});
}

DistributedArray<double> array_of(const Layout& layout, const std::vector<double>& values) {
  return DistributedArray<double>::from_global(layout, values);
}

}  // namespace weft::test
