#pragma once

// All variants of all solvers on any layout, for tests that apply to every solver.

#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/solve/cg.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/ista.hpp>
#include <weft/solve/lsqr.hpp>
#include <weft/solve/total_variation.hpp>

#include "array/layouts.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::test {

/// A positive diagonal with values different enough for many iterations.
template <Scalar T>
LinearOperator<T> positive_operator(const Layout& layout, int seed = 1) {
  std::vector<T> a = local_values<T>(layout, seed);
  const std::vector<T> b = local_values<T>(layout, seed + 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<Real<T>>(1 + std::norm(a[i]) / 16 + std::norm(b[i]) / 256);
  DistributedArray<T> d(layout);
  d.from_host(a);
  return diagonal(d);
}

/// Constructs a solver of a system with a positive operator.
template <Scalar T>
struct Variant {
  std::string name;
  std::function<std::unique_ptr<Solver<T>>(const Layout&, const SolverOptions&)> make;
  bool takes_stacks = true;
};

/// A variant of a solver that takes A, y, SolverOptions and its own options, made for a layout.
template <class AnyOf, Scalar T, class MakeOptions>
Variant<T> variant_of(std::string name, MakeOptions make_options) {
  return {std::move(name), [make_options](const Layout& layout, const SolverOptions& options) {
            return std::make_unique<AnyOf>(positive_operator<T>(layout), make_array<T>(layout, 3),
                                           options, make_options(layout));
          }};
}

template <Scalar T>
std::vector<Variant<T>> linear_variants() {
  const auto x0 = [](const Layout& layout) { return make_array<T>(layout, 8); };
  const auto m = [](const Layout& layout) { return positive_operator<T>(layout, 5); };
  const auto cg = [](const char* name, auto options) {
    return variant_of<Cg<T>, T>(name, options);
  };
  const auto cgls = [](const char* name, auto options) {
    return variant_of<Cgls<T, T>, T>(name, options);
  };
  const auto lsqr = [](const char* name, auto options) {
    return variant_of<Lsqr<T, T>, T>(name, options);
  };
  return {
      cg("cg", [](const Layout&) { return CgOptions<T>{}; }),
      cg("cg from x0, preconditioned",
         [=](const Layout& on) { return CgOptions<T>{.x0 = x0(on), .preconditioner = m(on)}; }),
      cg("cg with one reduction",
         [](const Layout&) { return CgOptions<T>{.single_reduction = true}; }),
      cg("cg with one reduction, preconditioned",
         [=](const Layout& on) {
           return CgOptions<T>{.preconditioner = m(on), .single_reduction = true};
         }),
      cgls("cgls", [](const Layout&) { return CglsOptions<T>{}; }),
      cgls("cgls, damped", [](const Layout&) { return CglsOptions<T>{.damp = 1.5}; }),
      cgls("cgls from x0, damped, preconditioned",
           [=](const Layout& on) {
             return CglsOptions<T>{.damp = 1.5, .x0 = x0(on), .preconditioner = m(on)};
           }),
      lsqr("lsqr", [](const Layout&) { return LsqrOptions<T>{}; }),
      lsqr("lsqr, damped, with variances",
           [](const Layout&) { return LsqrOptions<T>{.damp = 1.5, .variance = true}; }),
      lsqr("lsqr from x0, damped",
           [=](const Layout& on) { return LsqrOptions<T>{.damp = 1.5, .x0 = x0(on)}; }),
  };
}

template <Scalar T>
std::vector<Variant<T>> penalty_variants() {
  const auto x0 = [](const Layout& layout) { return make_array<T>(layout, 8); };
  const auto how = [](const Layout&) { return IstaOptions<T>{.eps = 5}; };
  const auto with_all = [=](const Layout& on) {
    return IstaOptions<T>{.eps = 5,
                          .sparsifier = identity<T>(on),
                          .backtracking = true,
                          .decay = {9, 8, 7, 6, 5, 4, 3, 2, 1.5, 1.2, 1.1},
                          .x0 = x0(on)};
  };
  const auto variation = [=](index_t inner, bool from_x0) {
    return [=](const Layout& on) {
      TotalVariationOptions<T> options{.mu = 0.5, .inner_iterations = inner};
      if (from_x0) options.x0 = x0(on);
      return options;
    };
  };
  std::vector<Variant<T>> all = {
      variant_of<Ista<T, T>, T>("ista", how),
      variant_of<Ista<T, T>, T>("ista from x0, with backtracking and decay", with_all),
      variant_of<Fista<T, T>, T>("fista", how),
      variant_of<Fista<T, T>, T>("fista from x0, with backtracking and decay", with_all),
      variant_of<TotalVariation<T, T>, T>("total variation", variation(2, false)),
      variant_of<TotalVariation<T, T>, T>("total variation from x0, odd", variation(3, true)),
  };
  for (Variant<T>& one : all) one.takes_stacks = !one.name.starts_with("total variation");
  return all;
}

template <Scalar T>
std::vector<Variant<T>> all_variants() {
  std::vector<Variant<T>> all = linear_variants<T>();
  for (Variant<T>& one : penalty_variants<T>()) all.push_back(std::move(one));
  return all;
}

}  // namespace weft::test
