#include "op/stencil/differences.hpp"

#include <weft/core/error.hpp>

#include "core/option_checks.hpp"

#include <cmath>

namespace weft::detail {
namespace {

// Coefficients of x[i-2], ..., x[i+2] for samples at distance 1.
constexpr Stencil forward{0, 0, -1, 1, 0};
constexpr Stencil backward{0, -1, 1, 0, 0};
constexpr Stencil centered3{0, -0.5, 0, 0.5, 0};
constexpr Stencil centered5{1. / 12, -8. / 12, 0, 8. / 12, -1. / 12};

constexpr Stencil second_centered{0, 1, -2, 1, 0};
constexpr Stencil second_forward{0, 0, 1, -2, 1};
constexpr Stencil second_backward{1, -2, 1, 0, 0};

/// The stencils of a first derivative, in order of preference.
std::vector<Stencil> first_choices(DerivativeKind kind, bool edge, int order) {
  switch (kind) {
    case DerivativeKind::forward: return {forward};
    case DerivativeKind::backward: return {backward};
    case DerivativeKind::centered: break;
  }
  if (!edge) return {order == 5 ? centered5 : centered3};
  if (order == 5) return {centered5, centered3, forward, backward};
  return {centered3, forward, backward};
}

/// The stencils of a second derivative, in order of preference.
std::vector<Stencil> second_choices(DerivativeKind kind, bool edge) {
  switch (kind) {
    case DerivativeKind::forward: return {second_forward};
    case DerivativeKind::backward: return {second_backward};
    case DerivativeKind::centered: break;
  }
  if (!edge) return {second_centered};
  return {second_centered, second_forward, second_backward};
}

StencilMatrix scaled(index_t n, std::vector<Stencil> choices, double factor, const char* who) {
  require(std::isfinite(factor), "{}: the sampling is too small, coefficients overflow", who);
  for (Stencil& stencil : choices) {
    for (double& coefficient : stencil) coefficient *= factor;
  }
  return {n, choices};
}

void check_sampling(double sampling, DerivativeKind kind, const char* who) {
  require_enumerator(kind, DerivativeKind::backward, who, "DerivativeKind");
  require(std::isfinite(sampling) && sampling != 0,
          "{}: sampling must be finite and nonzero, got {}", who, sampling);
}

}  // namespace

StencilMatrix first_difference(index_t n, double sampling, DerivativeKind kind, bool edge,
                               int order, const char* who) {
  check_sampling(sampling, kind, who);
  require(order == 3 || order == 5, "{}: order must be 3 or 5, got {}", who, order);
  require(order == 3 || kind == DerivativeKind::centered,
          "{}: order {} requires DerivativeKind::centered", who, order);
  return scaled(n, first_choices(kind, edge, order), 1 / sampling, who);
}

StencilMatrix second_difference(index_t n, double sampling, double weight, DerivativeKind kind,
                                bool edge, const char* who) {
  check_sampling(sampling, kind, who);
  require(std::isfinite(weight), "{}: weights must be finite, got {}", who, weight);
  return scaled(n, second_choices(kind, edge), weight / sampling / sampling, who);
}

}  // namespace weft::detail
