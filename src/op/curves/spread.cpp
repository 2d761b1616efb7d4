#include <weft/op/curves/spread.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "core/hash.hpp"
#include "core/option_checks.hpp"
#include "op/curves/curve_operator.hpp"

#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <string>

namespace weft {
namespace {

constexpr const char* spread_name = "spread";

template <Scalar T>
void check(const Layout& domain, const Layout& range, const SpreadOptions& options,
           const std::string& positions) {
  detail::agree_on_plan(
      spread_name, {&range, &domain}, dtype_of<T>,
      fmt::format("interpolation {}{}, {}", static_cast<int>(options.interpolation),
                  options.on_the_fly ? ", on the fly" : "", positions));
  detail::require_enumerator(options.interpolation, CurveInterpolation::linear, spread_name,
                             "CurveInterpolation");
  require(!domain.is_stack() && !range.is_stack() && domain.ndim() == 2 && range.ndim() == 2,
          "{}: domain and range must have two axes, (nx0, nt0) and (nx, nt), but are {} and {}",
          spread_name, to_string(domain), to_string(range));
}

template <class Position>
std::string text_of(std::span<const Position> table) {
  detail::Hash hash;
  for (const Position each : table) hash.add(std::bit_cast<std::uint64_t>(each));
  return fmt::format("a table of {} positions with hash {:x}", table.size(), hash.value());
}

template <Scalar T, class Position>
LinearOperator<T> spread_from_table(const Layout& domain, const Layout& range,
                                    std::span<const Position> table, const SpreadOptions& options) {
  check<T>(domain, range, options, text_of(table));
  require(!options.on_the_fly, "{}: on_the_fly requires a function instead of a table",
          spread_name);
  const index_t nx = range.shape()[0];
  const Shape expected{domain.shape()[0], domain.shape()[1], nx};
  require(static_cast<index_t>(table.size()) == expected.count(),
          "{}: the table has {} elements, but (nx0, nt0, nx) are {}", spread_name, table.size(),
          to_string(expected));
  return detail::curve_operator<T>(
      spread_name, domain, range,
      [=](index_t sample, index_t column) {
        return static_cast<double>(table[static_cast<std::size_t>(sample * nx + column)]);
      },
      options);
}

}  // namespace

template <Scalar T>
LinearOperator<T> spread(const Layout& domain, const Layout& range, const SpreadFunction& positions,
                         const SpreadOptions& options) {
  check<T>(domain, range, options, "a function");
  require(positions != nullptr, "{}: the function is empty", spread_name);
  const index_t nt0 = domain.shape()[1];
  return detail::curve_operator<T>(
      spread_name, domain, range,
      [=](index_t sample, index_t column) { return positions(sample / nt0, sample % nt0, column); },
      options);
}

template <Scalar T>
LinearOperator<T> spread(const Layout& domain, const Layout& range, std::span<const double> table,
                         const SpreadOptions& options) {
  return spread_from_table<T>(domain, range, table, options);
}

template <Scalar T>
LinearOperator<T> spread(const Layout& domain, const Layout& range, std::span<const index_t> table,
                         const SpreadOptions& options) {
  return spread_from_table<T>(domain, range, table, options);
}

#define INSTANTIATE(T)                                                                         \
  template LinearOperator<T> spread<T>(const Layout&, const Layout&, const SpreadFunction&,    \
                                       const SpreadOptions&);                                  \
  template LinearOperator<T> spread<T>(const Layout&, const Layout&, std::span<const double>,  \
                                       const SpreadOptions&);                                  \
  template LinearOperator<T> spread<T>(const Layout&, const Layout&, std::span<const index_t>, \
                                       const SpreadOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
