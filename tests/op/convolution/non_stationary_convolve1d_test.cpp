#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/convolution/non_stationary_convolve1d.hpp>

#include "support/allocations.hpp"

namespace weft::test {
namespace {

template <Scalar T>
using Filters = std::vector<std::vector<T>>;

/// Multiples of 4, so that interpolated filters are integers as well.
template <Scalar T>
Filters<T> some_filters(std::size_t count, index_t taps) {
  Filters<T> filters(count);
  for (std::size_t k = 0; k < count; ++k) {
    for (index_t j = 0; j < taps; ++j) {
      filters[k].push_back(Real<T>{4} * value<T>(j + taps * static_cast<index_t>(k), 4));
    }
  }
  return filters;
}

/// The filter at a position.
template <Scalar T>
std::vector<T> filter_at(index_t position, const Filters<T>& filters,
                         const std::vector<index_t>& positions) {
  if (position <= positions.front()) return filters.front();
  if (position >= positions.back()) return filters.back();
  std::size_t k = 0;
  while (positions[k + 1] <= position) ++k;
  const auto weight = static_cast<Real<T>>(position - positions[k]) /
                      static_cast<Real<T>>(positions[k + 1] - positions[k]);
  std::vector<T> filter;
  for (std::size_t j = 0; j < filters[k].size(); ++j) {
    filter.push_back((1 - weight) * filters[k][j] + weight * filters[k + 1][j]);
  }
  return filter;
}

template <Scalar T>
void check_convolution(const Comm& comm, const Shape& shape, int axis, index_t taps,
                       const std::vector<index_t>& positions) {
  const Filters<T> filters = some_filters<T>(positions.size(), taps);
  const Expected<T> expected(shape.count(), shape.count(), [&](index_t row, index_t column) {
    const Index to = point_at(shape, row);
    const Index from = point_at(shape, column);
    Index elsewhere = to;
    elsewhere[axis] = from[axis];
    const index_t j = to[axis] - from[axis] + taps / 2;
    if (elsewhere != from || j < 0 || j >= taps) return T{};
    return filter_at(from[axis], filters, positions)[static_cast<std::size_t>(j)];
  });
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(non_stationary_convolve1d<T>(layout, filters, positions, {.axis = axis}),
                   expected);
  });
}

}  // namespace

TEST(NonStationaryConvolve1d, matches_matrix_along_any_axis_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_convolution<T>(comm, {9, 2}, 0, 3, {1, 5});
      check_convolution<T>(comm, {2, 7}, 1, 5, {0, 2, 4});
    });
    check_convolution<double>(comm, {2, 5, 3}, 1, 3, {1, 2, 3});
    check_convolution<float>(comm, {5, 37}, 0, 3, {1, 3});
    check_convolution<std::complex<double>>(comm, {5, 11}, 0, 3, {1, 3});
  });
}

TEST(NonStationaryConvolve1d, accepts_long_filters_and_a_single_one) {
  on_ranks([](Comm comm) {
    check_convolution<double>(comm, {6}, 0, 15, {0, 4});
    check_convolution<float>(comm, {6}, 0, 3, {2});
    check_convolution<std::complex<double>>(comm, {6}, 0, 1, {1, 3, 5});
  });
}

TEST(NonStationaryConvolve1d, with_equal_filters_is_a_convolution) {
  const Layout layout = Layout::local({700});
  const auto x = make_array<double>(layout, 2);
  const std::vector<double> h = {4, -8, 12, 16, -4};
  const auto y = non_stationary_convolve1d<double>(layout, {h, h, h}, {0, 256, 512}) * x;
  EXPECT_EQ(y.to_host(), (convolve1d<double>(layout, h, {.offset = 2}) * x).to_host());
}

TEST(NonStationaryConvolve1d, exchanges_one_halo) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 4});
    const index_t neighbours =
        (comm.rank() == 0 ? 0 : 1) + (comm.rank() == comm.size() - 1 ? 0 : 1);
    const auto A =
        non_stationary_convolve1d<double>(rows, some_filters<double>(2, 5), {0, 2}, {.axis = 0});
    auto x = make_array<double>(rows);
    auto y = make_array<double>(rows);
    EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y); }), 2 * neighbours);
    EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x); }), 2 * neighbours);
    EXPECT_EQ(A.cost().messages, static_cast<double>(neighbours));
    expect_no_allocation(comm, [&] {
      A.forward(x, y);
      A.adjoint(y, x, {0, 1});
    });
  });
}

TEST(NonStationaryConvolve1d, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect_rejected = [&](std::vector<std::string> words, const Filters<double>& h,
                                     std::vector<index_t> positions, int axis = -1) {
      words.emplace_back("non_stationary_convolve1d");
      expect_error<ArgumentError>(comm, words, [&] {
        non_stationary_convolve1d<double>(layout, h, positions, {.axis = axis});
      });
    };
    const Filters<double> three = some_filters<double>(3, 3);
    expect_rejected({"3 filters", "2 positions"}, three, {0, 1});
    expect_rejected({"0 filters"}, {}, {});
    expect_rejected({"odd", "4"}, some_filters<double>(1, 4), {0});
    expect_rejected({"odd", "0"}, {{}}, {0});
    expect_rejected({"odd", "3 and 5"}, {{1, 2, 3}, {1, 2, 3, 4, 5}}, {0, 1});
    expect_rejected({"equal steps", "4 follows 1"}, three, {0, 1, 4});
    expect_rejected({"equal steps", "0 follows 2"}, three, {2, 0, 1});
    expect_rejected({"position 5", "5 elements"}, three, {3, 4, 5});
    expect_rejected({"position -1"}, three, {-1, 0, 1});
    expect_rejected({"2"}, three, {0, 1, 2}, 2);
  });
}

}  // namespace weft::test
