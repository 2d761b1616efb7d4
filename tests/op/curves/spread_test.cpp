#include "op/support/check_operator.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/op/curves/spread.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace weft::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Curves of which some lie outside of some columns, at multiples of 1/4.
double curve(index_t ix0, index_t it0, index_t ix) {
  if ((ix0 + it0 + ix) % 7 == 6) return nan;
  return static_cast<double>(it0) + 0.25 * static_cast<double>(ix0 * ix) - 1;
}

/// What column (ix0, it0) of the matrix has at (ix, it).
double weight_at(double position, index_t it, index_t nt, CurveInterpolation interpolation) {
  if (!(position >= 0) || position > static_cast<double>(nt - 1)) return 0;
  const double distance = static_cast<double>(it) - position;
  if (interpolation == CurveInterpolation::nearest) return distance > -0.5 && distance <= 0.5;
  return std::max(0.0, 1 - std::abs(distance));
}

template <class T>
Expected<T> spread_matrix(const Shape& model, const Shape& data, const SpreadFunction& position,
                          CurveInterpolation interpolation) {
  return {data.count(), model.count(), [&](index_t row, index_t column) {
            const Index to = point_at(data, row);
            const Index from = point_at(model, column);
            const double entry =
                weight_at(position(from[0], from[1], to[0]), to[1], data[1], interpolation);
            return T(static_cast<Real<T>>(entry));
          }};
}

template <class Position>
std::vector<Position> table_of(const Shape& model, const Shape& data,
                               const SpreadFunction& position) {
  std::vector<Position> table;
  for (index_t ix0 = 0; ix0 < model[0]; ++ix0) {
    for (index_t it0 = 0; it0 < model[1]; ++it0) {
      for (index_t ix = 0; ix < data[0]; ++ix) {
        table.push_back(static_cast<Position>(position(ix0, it0, ix)));
      }
    }
  }
  return table;
}

/// Layouts that data may have.
template <Scalar T>
void for_data_layouts(const Comm& comm, const Shape& shape, const LayoutTest& f) {
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    for (int rank = 0; rank < layout.comm().size(); ++rank) {
      if (layout.local_count(rank) > 0 && layout.box(rank).shape[1] != shape[1]) return;
    }
    f(layout);
  });
}

}  // namespace

TEST(Spread, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const auto& [model, data] : std::vector<std::pair<Shape, Shape>>{
               {{3, 4}, {5, 6}}, {{1, 5}, {2, 5}}, {{4, 3}, {1, 1}}, {{0, 3}, {2, 4}}}) {
        for (const auto interpolation : {CurveInterpolation::nearest, CurveInterpolation::linear}) {
          const auto expected = spread_matrix<T>(model, data, curve, interpolation);
          const auto table = table_of<double>(model, data, curve);
          for_data_layouts<T>(comm, data, [&, &inner = model](const Layout& range) {
            const Layout domain = replicated_like(range, inner);
            const SpreadOptions options{.interpolation = interpolation};
            check_operator(spread<T>(domain, range, table, options), expected);
            check_operator(spread<T>(domain, range, curve, options), expected);
            if (!range.device().host_accessible()) return;
            check_operator(spread<T>(domain, range, curve,
                                     {.interpolation = interpolation, .on_the_fly = true}),
                           expected);
          });
        }
      }
    });
  });
}

TEST(Spread, takes_tables_of_indices) {
  on_ranks([](Comm comm) {
    const Shape model{3, 4};
    const Shape data{5, 6};
    const SpreadFunction whole = [](index_t ix0, index_t it0, index_t ix) {
      return static_cast<double>(it0 + ix0 * ix - 2);
    };
    const auto table = table_of<index_t>(model, data, whole);
    const auto expected = spread_matrix<double>(model, data, whole, CurveInterpolation::linear);
    for_data_layouts<double>(comm, data, [&](const Layout& range) {
      const Layout domain = replicated_like(range, model);
      check_operator(spread<double>(domain, range, table), expected);
      check_operator(
          spread<double>(domain, range, table, {.interpolation = CurveInterpolation::nearest}),
          expected);
    });
  });
}

// Several passes over columns and samples, and enough elements for threads. In float, sums that
// were rounded after each pass would differ.
template <class T>
void expect_same_passes() {
  const Layout domain = Layout::local({31, 1009});
  const Layout range = Layout::local({37, 1013});
  const SpreadFunction parabola = [](index_t ix0, index_t it0, index_t ix) {
    return static_cast<double>(it0) + 0.01 * static_cast<double>(ix0 * ix * ix);
  };
  const auto table = spread<T>(domain, range, parabola);
  const auto on_the_fly = spread<T>(domain, range, parabola, {.on_the_fly = true});
  DistributedArray<T> x(domain);
  x.fill([](const Index& at) { return T{1} / static_cast<T>(1 + at[0] + at[1]); });
  DistributedArray<T> y(range);
  y.fill([](const Index& at) { return T{1} / static_cast<T>(1 + at[0] * at[1]); });
  const std::vector<T> forward = (table * x).to_host();
  const std::vector<T> back = (adjoint(table) * y).to_host();
  for (const int threads : {1, 2, 5}) {
#if defined(_OPENMP)
    omp_set_num_threads(threads);
#endif
    EXPECT_EQ((table * x).to_host(), forward) << threads;
    EXPECT_EQ((on_the_fly * x).to_host(), forward) << threads;
    EXPECT_EQ((adjoint(table) * y).to_host(), back) << threads;
    EXPECT_EQ((adjoint(on_the_fly) * y).to_host(), back) << threads;
  }
#if defined(_OPENMP)
  omp_set_num_threads(1);
#endif
}

TEST(Spread, does_not_depend_on_threads_and_passes) {
  expect_same_passes<double>();
  expect_same_passes<float>();
}

TEST(Spread, rethrows_what_the_function_throws) {
#if defined(_OPENMP)
  omp_set_num_threads(2);
#endif
  const Layout domain = Layout::local({31, 1009});
  const SpreadFunction fails = [](index_t, index_t, index_t ix) -> double {
    if (ix == 30) throw std::out_of_range("no such column");
    return 1;
  };
  EXPECT_THROW(spread<double>(domain, Layout::local({37, 13}), fails), std::out_of_range);
#if defined(_OPENMP)
  omp_set_num_threads(1);
#endif
}

TEST(Spread, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout domain = Layout::replicated(comm, {3, 4});
    const Layout range = Layout::scatter(comm, {5, 6});
    const std::vector<double> table(60);
    const auto expect_refused = [&](const std::vector<std::string>& words, const Layout& from,
                                    const Layout& to, const SpreadOptions& options = {}) {
      expect_error<ArgumentError>(comm, words, [&] { spread<double>(from, to, curve, options); });
    };
    expect_error<ArgumentError>(comm, {"spread", "59", "(3, 4, 5)"},
                                [&] { spread<double>(domain, range, std::span(table).first(59)); });
    expect_error<ArgumentError>(comm, {"spread", "on_the_fly", "function"}, [&] {
      spread<double>(domain, range, table, {.on_the_fly = true});
    });
    expect_error<ArgumentError>(comm, {"spread", "empty"},
                                [&] { spread<double>(domain, range, SpreadFunction{}); });
    expect_refused({"spread", "CurveInterpolation", "2"}, domain, range,
                   {.interpolation = static_cast<CurveInterpolation>(2)});
    expect_refused({"spread", "two axes"}, domain, Layout::scatter(comm, {5, 6, 1}));
    expect_refused({"spread", "two axes"}, domain, Layout::stack({range}));
    expect_refused({"spread", "on_the_fly", "CPU", "debug"}, domain.on(Device::debug()),
                   range.on(Device::debug()), {.on_the_fly = true});
    expect_refused({"spread", "copy on every rank"}, domain.on(Device::debug()), range);
    if (comm.size() == 1) return;
    expect_refused({"spread", "axis 0 only"}, domain, Layout::scatter(comm, {5, 6}, 1));
    expect_refused({"spread", "copy on every rank"}, Layout::scatter(comm, {3, 4}), range);
    expect_refused({"spread", "copy on every rank"}, Layout::local({3, 4}), range);
  });
}

}  // namespace weft::test
