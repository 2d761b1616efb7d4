#include <weft/solve/inversion.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/solve/cg.hpp>
#include <weft/solve/cgls.hpp>

#include "solve/problem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

template <Scalar D>
using Regularizers = std::vector<Regularizer<D>>;

void check_damp(const char* where, double damp) {
  require(std::isfinite(damp) && damp >= 0, "{}: damp = {}; use 0 for none, or a positive number",
          where, damp);
}

template <Scalar D>
void check_regularizers(const char* where, const Layout& domain,
                        const Regularizers<D>& regularizers) {
  for (std::size_t i = 0; i < regularizers.size(); ++i) {
    const auto& [op, weight, data] = regularizers[i];
    require(std::isfinite(weight) && weight >= 0,
            "{}: the weight of regularizer {} is {}; use a positive number, or 0 to omit it", where,
            i, weight);
    if (!(op.domain() == domain)) {
      refuse("{}: {}", where,
             detail::difference("the operator takes", domain,
                                fmt::format("regularizer {} takes", i), op.domain()));
    }
    if (data && !(data->layout() == op.range())) {
      refuse("{}: {}", where,
             detail::difference(fmt::format("regularizer {} returns", i), op.range(),
                                "its data are", data->layout()));
    }
    require(
        op.range().device() == domain.device(),
        "{}: regularizer {} takes arrays on {} and returns them on {}; both must be on one device",
        where, i, to_string(domain.device()), to_string(op.range().device()));
  }
}

/// The checks that both forms of the problem share.
template <Scalar D, Scalar R>
void check_inversion(const char* where, const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                     const Regularizers<D>& regularizers, double damp,
                     const std::optional<ConstArrayView<D>>& x0,
                     const std::optional<LinearOperator<D>>& preconditioner) {
  detail::check_problem(where, a, y);
  check_regularizers(where, a.domain(), regularizers);
  check_damp(where, damp);
  detail::check_preconditioner(where, preconditioner, a.domain());
  if (x0 && !(x0->layout() == a.domain())) {
    refuse("{}: {}", where,
           detail::difference("the operator takes", a.domain(), "x0 is", x0->layout()));
  }
}

void check_weight(const char* where, const char* what, const Layout& data, const Layout& side) {
  if (side == data) return;
  refuse("{}: {}", where,
         detail::difference("the data are", data, fmt::format("{} is for", what), side));
}

template <Scalar D, Scalar R>
struct Row {
  LinearOperator<D, R> op;
  std::optional<ConstArrayView<R>> data;
};

/// Appends a regularizer as rows of a system with the scalars of the data.
template <Scalar D, Scalar R>
void add(const Regularizer<D>& regularizer, std::vector<Row<D, R>>& rows) {
  const auto weight = static_cast<Real<D>>(regularizer.weight);
  const LinearOperator<D> op = scaled(weight, regularizer.op);
  std::optional<DistributedArray<D>> data;
  if (regularizer.data) data.emplace(weight * *regularizer.data);
  if constexpr (std::same_as<D, R>) {
    rows.push_back({op, std::move(data)});
  } else if constexpr (is_complex<R>) {
    rows.push_back({adjoint(real_part<R>(op.range())) * op, {}});
    if (data) rows.back().data.emplace(astype<R>(*data));
  } else {
    rows.push_back({real_part(op), {}});
    if (data) rows.back().data.emplace(real(*data));
    rows.push_back({imag_part(op), {}});
    if (data) rows.back().data.emplace(imag(*data));
  }
}

template <Scalar D, Scalar R>
struct Problem {
  LinearOperator<D, R> a;
  DistributedArray<R> y;
};

template <Scalar D, Scalar R>
Problem<D, R> stacked(const std::vector<Row<D, R>>& rows) {
  std::vector<LinearOperator<D, R>> operators;
  for (const Row<D, R>& row : rows) operators.push_back(row.op);
  const LinearOperator<D, R> all = vstack(operators);
  DistributedArray<R> y(all.range());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].data) copy(*rows[i].data, y.part(static_cast<int>(i)));
  }
  return {all, std::move(y)};
}

template <Scalar D, Scalar R>
Problem<D, R> stacked(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                      const std::optional<LinearOperator<R>>& root,
                      const Regularizers<D>& regularizers) {
  std::vector<Row<D, R>> rows;
  if (root) {
    rows.push_back({*root * a, *root * y});
  } else {
    rows.push_back({a, y});
  }
  for (const Regularizer<D>& regularizer : regularizers) {
    if (regularizer.weight != 0) add(regularizer, rows);
  }
  return stacked(rows);
}

/// y - A x
template <Scalar D, Scalar R>
DistributedArray<R> misfit(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                           const ConstArrayView<D>& x) {
  DistributedArray<R> r(y);
  a.forward(x, r, {-1, 1});
  return r;
}

}  // namespace

template <Scalar D, Scalar R>
Solution<D> regularized_inversion(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                  const std::vector<Regularizer<D>>& regularizers,
                                  const SolverOptions& options,
                                  const InversionOptions<D, R>& inversion_options) {
  constexpr const char* where = "regularized_inversion";
  const auto& [root, damp, x0, preconditioner] = inversion_options;
  check_inversion(where, a, y, regularizers, damp, x0, preconditioner);
  if (root) check_weight(where, "root_weight", y.layout(), root->domain());

  const Problem<D, R> problem = stacked(a, y, root, regularizers);
  Solution<D> solution = cgls(problem.a, problem.y, options,
                              {.damp = damp, .x0 = x0, .preconditioner = preconditioner});
  const DistributedArray<R> r = misfit(a, y, solution.x);
  solution.residual_norm = root ? norm(*root * r) : norm(r);
  return solution;
}

template <Scalar D, Scalar R>
Solution<D> normal_equations_inversion(
    const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
    const std::vector<Regularizer<D>>& regularizers, const SolverOptions& options,
    const NormalEquationsOptions<D, R>& normal_equations_options) {
  constexpr const char* where = "normal_equations_inversion";
  const auto& [weight, damp, x0, preconditioner] = normal_equations_options;
  check_inversion(where, a, y, regularizers, damp, x0, preconditioner);
  if (weight) {
    check_weight(where, "weight", y.layout(), weight->domain());
    check_weight(where, "weight", y.layout(), weight->range());
  }

  LinearOperator<D> normal = weight ? adjoint(a) * (*weight * a) : a.normal();
  DistributedArray<D> b(a.domain(), uninitialized);
  if (weight) {
    a.adjoint(*weight * y, b);
  } else {
    a.adjoint(y, b);
  }
  for (const auto& [op, size, data] : regularizers) {
    if (size == 0) continue;
    const auto square = static_cast<Real<D>>(size * size);
    normal = normal + square * op.normal();
    if (data) op.adjoint(*data, b, {square, 1});
  }
  if (damp != 0) {
    normal = normal + static_cast<Real<D>>(damp * damp) * identity<D>(a.domain());
  }

  Solution<D> solution = cg(normal, b, options, {.x0 = x0, .preconditioner = preconditioner});
  const DistributedArray<R> r = misfit(a, y, solution.x);
  solution.residual_norm =
      weight ? std::sqrt(std::max(0.0, std::real(dot(r, *weight * r)))) : norm(r);
  return solution;
}

template <Scalar D, Scalar R>
PreconditionedSolution<D> preconditioned_inversion(
    const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
    const std::type_identity_t<LinearOperator<D>>& p, const SolverOptions& options,
    const PreconditionedOptions<D>& preconditioned_options) {
  constexpr const char* where = "preconditioned_inversion";
  const auto& [damp, p0] = preconditioned_options;
  detail::check_problem(where, a, y);
  check_damp(where, damp);
  if (!(p.range() == a.domain())) {
    refuse("{}: {}", where,
           detail::difference("the operator takes", a.domain(), "P returns", p.range()));
  }
  if (p0 && !(p0->layout() == p.domain())) {
    refuse("{}: {}", where, detail::difference("P takes", p.domain(), "p0 is", p0->layout()));
  }
  Solution<D> solution = cgls(a * p, y, options, {.damp = damp, .x0 = p0});
  DistributedArray<D> of_p = std::move(solution.x);
  solution.x = p * of_p;
  return {std::move(solution), std::move(of_p)};
}

#define INSTANTIATE(D, R)                                                                        \
  template Solution<D> regularized_inversion(                                                    \
      const LinearOperator<D, R>&, const ConstArrayView<R>&, const std::vector<Regularizer<D>>&, \
      const SolverOptions&, const InversionOptions<D, R>&);                                      \
  template Solution<D> normal_equations_inversion(                                               \
      const LinearOperator<D, R>&, const ConstArrayView<R>&, const std::vector<Regularizer<D>>&, \
      const SolverOptions&, const NormalEquationsOptions<D, R>&);                                \
  template PreconditionedSolution<D> preconditioned_inversion(                                   \
      const LinearOperator<D, R>&, const ConstArrayView<R>&, const LinearOperator<D>&,           \
      const SolverOptions&, const PreconditionedOptions<D>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
