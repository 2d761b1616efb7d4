#include "op/stencil/differences.hpp"

#include <weft/core/error.hpp>

#include "core/option_checks.hpp"

#include <cmath>

namespace weft::detail {
namespace {

constexpr Stencil forward{0, 0, -1, 1, 0};
constexpr Stencil backward{0, -1, 1, 0, 0};
constexpr Stencil centered3{0, -0.5, 0, 0.5, 0};
constexpr Stencil centered5{1. / 12, -8. / 12, 0, 8. / 12, -1. / 12};

constexpr Stencil second_centered{0, 1, -2, 1, 0};
constexpr Stencil second_forward{0, 0, 1, -2, 1};
constexpr Stencil second_backward{1, -2, 1, 0, 0};

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

std::vector<Stencil> second_choices(DerivativeKind kind, bool edge) {
  switch (kind) {
    case DerivativeKind::forward: return {second_forward};
    case DerivativeKind::backward: return {second_backward};
    case DerivativeKind::centered: break;
  }
  if (!edge) return {second_centered};
  return {second_centered, second_forward, second_backward};
}

StencilMatrix scaled(index_t n, std::vector<Stencil> choices, double factor, const char* where) {
  require(std::isfinite(factor), "{}: the sampling is too small to divide differences by", where);
  for (Stencil& stencil : choices) {
    for (double& coefficient : stencil) coefficient *= factor;
  }
  return {n, choices};
}

void check_sampling(double sampling, DerivativeKind kind, const char* where) {
  require_enumerator(kind, DerivativeKind::backward, where, "DerivativeKind");
  require(std::isfinite(sampling) && sampling != 0,
          "{}: a sampling of {}; it must be finite and not zero", where, sampling);
}

}  // namespace

StencilMatrix first_difference(index_t n, double sampling, DerivativeKind kind, bool edge,
                               int order, const char* where) {
  check_sampling(sampling, kind, where);
  require(order == 3 || order == 5, "{}: order must be 3 or 5, got {}", where, order);
  require(order == 3 || kind == DerivativeKind::centered,
          "{}: order {} is for centered differences only", where, order);
  return scaled(n, first_choices(kind, edge, order), 1 / sampling, where);
}

StencilMatrix second_difference(index_t n, double sampling, double weight, DerivativeKind kind,
                                bool edge, const char* where) {
  check_sampling(sampling, kind, where);
  require(std::isfinite(weight), "{}: a weight of {}; it must be finite", where, weight);
  return scaled(n, second_choices(kind, edge), weight / sampling / sampling, where);
}

double value_for(const std::vector<double>& values, std::size_t index, std::size_t axes,
                 const char* what, const char* where) {
  require(values.size() == 1 || values.size() == axes,
          "{}: {} numbers given as {} for {} axes; give one for each, or one for all", where,
          values.size(), what, axes);
  return values[values.size() == 1 ? 0 : index];
}

}  // namespace weft::detail
