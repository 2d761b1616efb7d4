#include <weft/solve/recurrence.hpp>

#include <fmt/core.h>

#include "solve/checkpoint.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

double AnyRecurrence::threshold(double reference) const {
  return std::max(options().relative_tolerance * reference, options().absolute_tolerance);
}

void AnyRecurrence::depends_on(std::string_view name, double value) {
  if (solver_.checkpoint_) solver_.checkpoint_->depends_on(name, value);
}

template <Scalar T>
void AnyRecurrence::depends_on(std::string_view name, const ConstArrayView<T>& array,
                               Origin origin) {
  if (solver_.checkpoint_) {
    solver_.checkpoint_->depends_on(name, array, origin == Origin::computed);
  }
}

void AnyRecurrence::expect_finite(SolverCheck& check, std::string_view what, double value) const {
  if (std::isfinite(value) || check.failure != StopReason::running) return;
  check.failure = StopReason::not_finite;
  check.message = fmt::format("{} is {} in iteration {}", what, value, iteration());
}

void AnyRecurrence::expect_positive(SolverCheck& check, std::string_view what, double value,
                                    std::string_view cause) const {
  expect_finite(check, what, value);
  if (value > 0 || check.converged || check.failure != StopReason::running) return;
  check.failure = StopReason::breakdown;
  check.message =
      fmt::format("{} is {}, not positive, in iteration {}: {}", what, value, iteration(), cause);
}

#define INSTANTIATE(T) \
  template void AnyRecurrence::depends_on(std::string_view, const ConstArrayView<T>&, Origin);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
