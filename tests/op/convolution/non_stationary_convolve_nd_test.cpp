#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/convolve_nd.hpp>
#include <weft/op/convolution/non_stationary_convolve1d.hpp>
#include <weft/op/convolution/non_stationary_convolve_nd.hpp>

#include "op/convolution/support/node_weights.hpp"
#include "support/allocations.hpp"

namespace weft::test {
namespace {

using Positions = std::vector<std::vector<index_t>>;

Shape nodes_of(const Positions& positions) {
  std::vector<index_t> counts;
  for (const auto& nodes : positions) counts.push_back(std::ssize(nodes));
  return Shape(Index(counts));
}

/// Multiples of 64, so that interpolated filters are integers as well for steps of 1, 2 and 4.
template <Scalar T>
FilterBank<T> some_bank(const Shape& shape, const Positions& positions) {
  FilterBank<T> bank{shape, positions, {}};
  const index_t count = nodes_of(positions).count() * shape.count();
  for (index_t j = 0; j < count; ++j) bank.filters.push_back(Real<T>{64} * value<T>(j, 4));
  return bank;
}

/// Element `tap` of the filter at a position, which has coordinates along the filters' axes.
template <Scalar T>
T filter_at(const FilterBank<T>& bank, const Index& position, const Index& tap) {
  const Shape nodes = nodes_of(bank.positions);
  T sum{};
  for (index_t node = 0; node < nodes.count(); ++node) {
    const Index at = point_at(nodes, node);
    double weight = 1;
    for (int k = 0; k < nodes.ndim(); ++k) {
      weight *= node_weight(bank.positions[static_cast<std::size_t>(k)],
                            static_cast<std::size_t>(at[k]), position[k]);
    }
    const index_t element = node * bank.shape.count() + position_of(bank.shape, tap);
    sum += static_cast<Real<T>>(weight) * bank.filters[static_cast<std::size_t>(element)];
  }
  return sum;
}

template <Scalar T>
Expected<T> convolution_matrix(const Shape& array, const std::vector<int>& axes,
                               const FilterBank<T>& bank) {
  return {array.count(), array.count(), [&](index_t row, index_t column) {
            const Index to = point_at(array, row);
            const Index from = point_at(array, column);
            Index elsewhere = from;
            Index tap = Index::filled(bank.shape.ndim(), 0);
            Index position = tap;
            for (int k = 0; k < bank.shape.ndim(); ++k) {
              const int axis = axes[static_cast<std::size_t>(k)];
              tap[k] = to[axis] - from[axis] + bank.shape[k] / 2;
              if (tap[k] < 0 || tap[k] >= bank.shape[k]) return T{};
              position[k] = from[axis];
              elsewhere[axis] = to[axis];
            }
            return elsewhere == to ? filter_at(bank, position, tap) : T{};
          }};
}

template <Scalar T>
void check_convolution(const Comm& comm, const Shape& array, const std::vector<int>& axes,
                       const Shape& shape, const Positions& positions) {
  SCOPED_TRACE("filters " + to_string(shape) + " on " + to_string(array));
  const FilterBank<T> bank = some_bank<T>(shape, positions);
  const auto expected = convolution_matrix<T>(array, axes, bank);
  for_operator_layouts<T>(comm, array, [&](const Layout& layout) {
    check_operator(axes.size() == 2 ? non_stationary_convolve2d<T>(layout, bank, {.axes = axes})
                                    : non_stationary_convolve3d<T>(layout, bank, {.axes = axes}),
                   expected);
  });
}

}  // namespace

TEST(NonStationaryConvolveNd, along_two_axes_matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_convolution<T>(comm, {6, 7}, {0, 1}, {3, 5}, {{1, 5}, {0, 2, 4}});
    });
    check_convolution<double>(comm, {7, 5}, {1, 0}, {3, 3}, {{1, 3}, {2, 4, 6}});
    check_convolution<float>(comm, {5, 4, 2}, {0, 1}, {3, 3}, {{0, 4}, {1, 2}});
    check_convolution<std::complex<double>>(comm, {5, 2, 6}, {0, 2}, {1, 3}, {{1, 3}, {0, 4}});
  });
}

TEST(NonStationaryConvolveNd, along_three_axes_matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    check_convolution<double>(comm, {3, 5, 4}, {0, 1, 2}, {3, 1, 3}, {{0, 2}, {0, 4}, {1, 3}});
    check_convolution<std::complex<float>>(comm, {4, 3, 3}, {2, 0, 1}, {3, 3, 1},
                                           {{0, 1, 2}, {1, 3}, {1}});
  });
}

TEST(NonStationaryConvolveNd, accepts_long_filters_and_a_single_one) {
  on_ranks([](Comm comm) {
    check_convolution<double>(comm, {3, 4}, {0, 1}, {9, 3}, {{0, 2}, {1}});
    check_convolution<float>(comm, {1, 5}, {0, 1}, {3, 11}, {{0}, {0, 4}});
    check_convolution<double>(comm, {4, 3}, {0, 1}, {1, 1}, {{2}, {1}});
  });
}

TEST(NonStationaryConvolveNd, with_equal_filters_is_a_convolution) {
  const Layout layout = Layout::local({9, 2100});
  const auto x = make_array<double>(layout, 2);
  FilterBank<double> bank{{3, 5}, {{0, 4, 8}, {0, 512, 1024, 1536}}, {}};
  std::vector<double> h;
  for (index_t j = 0; j < 15; ++j) h.push_back(value<double>(j, 3));
  for (int node = 0; node < 12; ++node) {
    bank.filters.insert(bank.filters.end(), h.begin(), h.end());
  }
  const auto A = non_stationary_convolve2d<double>(layout, bank);
  const auto B = convolve_nd<double>(layout, {3, 5}, h,
                                     {.offset = {1, 2}, .method = ConvolutionMethod::direct});
  EXPECT_EQ((A * x).to_host(), (B * x).to_host());
  EXPECT_EQ((adjoint(A) * x).to_host(), (adjoint(B) * x).to_host());
}

TEST(NonStationaryConvolveNd, with_filters_along_one_axis_is_that_of_one_axis) {
  const Layout layout = Layout::local({3, 1500});
  const auto x = make_array<float>(layout, 2);
  const FilterBank<float> bank = some_bank<float>({1, 3}, {{1}, {100, 600, 1100}});
  std::vector<std::vector<float>> filters(3);
  for (std::size_t j = 0; j < 9; ++j) filters[j / 3].push_back(bank.filters[j]);
  const auto A = non_stationary_convolve2d<float>(layout, bank);
  const auto B = non_stationary_convolve1d<float>(layout, filters, {100, 600, 1100});
  const auto expect_close = [](const std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 0.01) << i;
  };
  expect_close((A * x).to_host(), (B * x).to_host());
  expect_close((adjoint(A) * x).to_host(), (adjoint(B) * x).to_host());
}

TEST(NonStationaryConvolveNd, exchanges_one_halo) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 4});
    const index_t neighbours =
        (comm.rank() == 0 ? 0 : 1) + (comm.rank() == comm.size() - 1 ? 0 : 1);
    const auto A =
        non_stationary_convolve2d<double>(rows, some_bank<double>({3, 3}, {{0, 2}, {1, 3}}));
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

TEST(NonStationaryConvolveNd, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto expect_rejected = [&](std::vector<std::string> words, const FilterBank<double>& bank,
                                     const std::vector<int>& axes = {}) {
      words.emplace_back("non_stationary_convolve2d");
      expect_error<ArgumentError>(
          comm, words, [&] { non_stationary_convolve2d<double>(layout, bank, {.axes = axes}); });
    };
    const Positions good = {{0, 2}, {1, 4}};
    expect_rejected({"1 axes", "expected 2"}, some_bank<double>({3, 3}, {{0, 2}}));
    expect_rejected({"2 axes", "(3)"}, some_bank<double>({3}, good));
    expect_rejected({"odd", "(3, 4)"}, some_bank<double>({3, 4}, good));
    expect_rejected({"35 elements", "(2, 2, 3, 3)"}, {{3, 3}, good, std::vector<double>(35)});
    expect_rejected({"no positions", "axis 1"}, some_bank<double>({3, 3}, {{0, 2}, {}}));
    expect_rejected({"position 4", "axis 0", "4 elements"},
                    some_bank<double>({3, 3}, {{0, 4}, {1}}));
    expect_rejected({"equal steps", "axis 1", "4 follows 1"},
                    some_bank<double>({3, 3}, {{0}, {0, 1, 4}}));
    expect_rejected({"got 1 axes"}, some_bank<double>({3, 3}, good), {0});
    expect_rejected({"axis 0", "twice"}, some_bank<double>({3, 3}, good), {0, -2});
    expect_error<ArgumentError>(comm, {"non_stationary_convolve3d", "3 axes", "(4, 5)"}, [&] {
      non_stationary_convolve3d<double>(layout, some_bank<double>({1, 1, 1}, {{0}, {0}, {0}}));
    });
  });
}

}  // namespace weft::test
