#include "op/stencil/differences.hpp"

#include <weft/core/error.hpp>

#include "core/option_checks.hpp"

#include <algorithm>
#include <cmath>

namespace weft::detail {
namespace {

/// A stencil from the coefficients of x[i-r], ..., x[i+r], divided by a common divisor.
template <std::size_t width>
constexpr Stencil stencil_of(const double (&coefficients)[width], double divisor = 1) {
  static_assert(width % 2 == 1 && width <= std::tuple_size_v<Stencil>);
  Stencil stencil{};
  for (std::size_t k = 0; k < width; ++k) {
    stencil[k + (stencil.size() - width) / 2] = coefficients[k] / divisor;
  }
  return stencil;
}

// For samples at distance 1.
constexpr Stencil forward = stencil_of({0, -1, 1});
constexpr Stencil backward = stencil_of({-1, 1, 0});
constexpr Stencil centered3 = stencil_of({-1, 0, 1}, 2);
constexpr Stencil centered5 = stencil_of({1, -8, 0, 8, -1}, 12);
constexpr Stencil centered7 = stencil_of({-1, 9, -45, 0, 45, -9, 1}, 60);
constexpr Stencil centered9 = stencil_of({3, -32, 168, -672, 0, 672, -168, 32, -3}, 840);

constexpr Stencil second_centered3 = stencil_of({1, -2, 1});
constexpr Stencil second_centered5 = stencil_of({-1, 16, -30, 16, -1}, 12);
constexpr Stencil second_forward = stencil_of({0, 0, 1, -2, 1});
constexpr Stencil second_backward = stencil_of({1, -2, 1, 0, 0});

/// The stencils of a centered first derivative of an order, and those of lower orders after it.
std::vector<Stencil> first_centered(int order) {
  std::vector<Stencil> all = {centered9, centered7, centered5, centered3};
  all.erase(all.begin(), all.end() - (order - 1) / 2);
  return all;
}

/// The stencils of a first derivative, in order of preference.
std::vector<Stencil> first_choices(DerivativeKind kind, bool edge, int order) {
  switch (kind) {
    case DerivativeKind::forward: return {forward};
    case DerivativeKind::backward: return {backward};
    case DerivativeKind::centered: break;
  }
  std::vector<Stencil> choices = first_centered(order);
  if (!edge) return {choices.front()};
  choices.insert(choices.end(), {forward, backward});
  return choices;
}

/// The stencils of a second derivative, in order of preference.
std::vector<Stencil> second_choices(DerivativeKind kind, bool edge, int order) {
  switch (kind) {
    case DerivativeKind::forward: return {second_forward};
    case DerivativeKind::backward: return {second_backward};
    case DerivativeKind::centered: break;
  }
  if (!edge) return {order == 5 ? second_centered5 : second_centered3};
  std::vector<Stencil> choices = {second_centered3, second_forward, second_backward};
  if (order == 5) choices.insert(choices.begin(), second_centered5);
  return choices;
}

StencilMatrix scaled(index_t n, std::vector<Stencil> choices, double factor, const char* who) {
  require(std::isfinite(factor), "{}: the sampling is too small, coefficients overflow", who);
  for (Stencil& stencil : choices) {
    for (double& coefficient : stencil) coefficient *= factor;
  }
  return {n, choices};
}

void check(const DifferenceOptions& options, const char* who) {
  require_enumerator(options.kind, DerivativeKind::backward, who, "DerivativeKind");
  require(std::isfinite(options.sampling) && options.sampling != 0,
          "{}: sampling must be finite and nonzero, got {}", who, options.sampling);
  require(std::isfinite(options.weight), "{}: weights must be finite, got {}", who, options.weight);
  require(options.order == 3 || options.kind == DerivativeKind::centered,
          "{}: order {} requires DerivativeKind::centered", who, options.order);
}

}  // namespace

StencilMatrix first_difference(index_t n, const DifferenceOptions& options, const char* who) {
  const int order = options.order;
  require(order == 3 || order == 5 || order == 7 || order == 9,
          "{}: order must be 3, 5, 7 or 9, got {}", who, order);
  check(options, who);
  return scaled(n, first_choices(options.kind, options.edge, order),
                options.weight / options.sampling, who);
}

StencilMatrix second_difference(index_t n, const DifferenceOptions& options, const char* who) {
  require(options.order == 3 || options.order == 5, "{}: order must be 3 or 5, got {}", who,
          options.order);
  check(options, who);
  return scaled(n, second_choices(options.kind, options.edge, options.order),
                options.weight / options.sampling / options.sampling, who);
}

}  // namespace weft::detail
