#pragma once

#include "solve/vector_steps.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace weft::detail {

/// Ordered by priority: groups of ranks, which have results of their own, continue until all of
/// them are done, and stop together if one fails.
enum class IterationStatus : std::int32_t { done, running, not_positive, not_finite };

/// Sums on the host, and agreement between groups of ranks, for iterations that are not worth
/// keeping on the device.
class AgreedSums {
 public:
  AgreedSums(const Layout& domain, const Layout& range)
      : domain_(domain), range_(range), scalars_(domain.device(), 2, {&domain_, &range_}) {}

  IterationStatus agreed(IterationStatus status) const {
    if (!domain_.has_groups() && !range_.has_groups()) return status;
    return static_cast<IterationStatus>(
        domain_.comm().allreduce(static_cast<std::int32_t>(status), ReduceOp::max));
  }

  template <Scalar T>
  double norm_in_domain(const ConstArrayView<T>& x) {
    return norm(domain_, x);
  }
  template <Scalar T>
  double norm_in_range(const ConstArrayView<T>& x) {
    return norm(range_, x);
  }
  /// Re<x, y> and |y|² for arrays in the domain.
  template <Scalar T>
  std::array<double, 2> products(const ConstArrayView<T>& x, const ConstArrayView<T>& y) {
    sum_products({scalars_, domain_, 0}, x, y, y);
    return finished(domain_, 2);
  }

 private:
  template <Scalar T>
  double norm(const SumSpace& space, const ConstArrayView<T>& x) {
    sum_product({scalars_, space, 0}, x, x);
    return std::sqrt(finished(space, 1)[0]);
  }
  std::array<double, 2> finished(const SumSpace& space, int count) {
    scalars_.finish(space, 0, count);
    std::array<double, 2> sums{};
    scalars_.read(sums);
    return sums;
  }

  SumSpace domain_;
  SumSpace range_;
  Scalars scalars_;
};

}  // namespace weft::detail
