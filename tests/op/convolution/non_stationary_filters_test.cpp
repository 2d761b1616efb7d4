#include "op/support/check_operator.hpp"

#include <weft/array/random.hpp>
#include <weft/core/error.hpp>
#include <weft/op/convolution/non_stationary_convolve1d.hpp>
#include <weft/op/convolution/non_stationary_convolve_nd.hpp>
#include <weft/op/convolution/non_stationary_filters.hpp>

#include "op/convolution/support/node_weights.hpp"
#include "support/allocations.hpp"

namespace weft::test {
namespace {

using Positions = std::vector<std::vector<index_t>>;

/// The shape of the model: filters, then taps.
Shape model_shape(const Positions& positions, const Shape& shape) {
  std::vector<index_t> extents;
  for (const auto& nodes : positions) extents.push_back(std::ssize(nodes));
  extents.insert(extents.end(), shape.begin(), shape.end());
  return Shape(Index(extents));
}

/// Entry (k, (node, tap)) is the weight of the node at i times input[i], where i = k - tap + m.
template <Scalar T>
Expected<T> filters_matrix(const Shape& array, const std::vector<T>& input,
                           const std::vector<int>& axes, const Shape& shape,
                           const Positions& positions) {
  const Shape model = model_shape(positions, shape);
  return {array.count(), model.count(), [&, model](index_t row, index_t column) {
            const Index element = point_at(model, column);
            Index from = point_at(array, row);
            double weight = 1;
            for (int k = 0; k < shape.ndim(); ++k) {
              index_t& i = from[axes[static_cast<std::size_t>(k)]];
              i += shape[k] / 2 - element[shape.ndim() + k];
              weight *= node_weight(positions[static_cast<std::size_t>(k)],
                                    static_cast<std::size_t>(element[k]), i);
            }
            if (!whole(array).contains(from)) return T{};
            return static_cast<Real<T>>(weight) *
                   input[static_cast<std::size_t>(position_of(array, from))];
          }};
}

template <Scalar T>
void check_filters(const Comm& comm, const Shape& array, const std::vector<int>& axes,
                   const Shape& shape, const Positions& positions) {
  SCOPED_TRACE("filters " + to_string(shape) + " on " + to_string(array));
  for_operator_layouts<T>(comm, array, [&](const Layout& layout) {
    const auto expected =
        filters_matrix<T>(array, global_values<T>(layout, 3), axes, shape, positions);
    const auto input = make_array<T>(layout, 3);
    check_operator(axes.size() == 1
                       ? non_stationary_filters1d<T>(input, shape[0], positions[0], {.axes = axes})
                       : non_stationary_filters2d<T>(input, shape, positions, {.axes = axes}),
                   expected);
  });
}

}  // namespace

TEST(NonStationaryFilters, along_one_axis_matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_filters<T>(comm, {9}, {0}, {3}, {{1, 5}});
    });
    check_filters<double>(comm, {7, 2}, {0}, {5}, {{0, 2, 4}});
    check_filters<double>(comm, {2, 7}, {1}, {3}, {{0, 2, 4}});
    check_filters<std::complex<double>>(comm, {2, 6, 3}, {1}, {3}, {{1, 3}});
  });
}

TEST(NonStationaryFilters, along_two_axes_matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_filters<T>(comm, {5, 6}, {0, 1}, {3, 3}, {{0, 4}, {1, 3, 5}});
    });
    check_filters<double>(comm, {5, 4}, {1, 0}, {3, 1}, {{0, 2}, {2}});
    check_filters<double>(comm, {3, 2, 4}, {0, 2}, {1, 3}, {{1}, {0, 2}});
  });
}

TEST(NonStationaryFilters, accept_filters_longer_than_the_input) {
  on_ranks([](Comm comm) {
    check_filters<double>(comm, {4}, {0}, {11}, {{0, 2}});
    check_filters<std::complex<float>>(comm, {1, 3}, {0, 1}, {3, 7}, {{0}, {0, 2}});
  });
}

TEST(NonStationaryFilters, apply_as_a_convolution_with_the_filters) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {11, 40});
    const auto input = make_array<double>(layout, 2);
    const FilterBank<double> bank{
        {3, 5}, {{1, 5, 9}, {3, 19, 35}}, global_values<double>(Layout::local({3, 3, 3, 5}), 6)};
    const auto F = non_stationary_filters2d<double>(input, bank.shape, bank.positions);
    const auto filters = DistributedArray<double>::from_global(F.domain(), bank.filters);
    const auto A = non_stationary_convolve2d<double>(layout, bank);
    EXPECT_EQ((F * filters).to_host(), (A * input).to_host());
  });
}

TEST(NonStationaryFilters, sum_long_rows_in_pieces) {
  // Rows longer than what the kernel sums at a time; a single filter, and several.
  const Layout layout = Layout::local({2, 3000});
  const auto x = make_array<float>(layout, 2);
  const auto y = make_array<float>(layout, 3);
  for (const std::vector<index_t>& nodes : {std::vector<index_t>{7}, {0, 1024, 2048}}) {
    const auto g = (adjoint(non_stationary_filters1d<float>(x, 3, nodes)) * y).to_host();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      for (index_t tap = 0; tap < 3; ++tap) {
        double sum = 0;
        for (index_t row = 0; row < 2; ++row) {
          for (index_t k = 0; k < 3000; ++k) {
            const index_t i = k - tap + 1;
            if (i < 0 || i >= 3000) continue;
            sum += node_weight(nodes, node, i) *
                   static_cast<double>(x.local()[static_cast<std::size_t>(row * 3000 + i)]) *
                   static_cast<double>(y.local()[static_cast<std::size_t>(row * 3000 + k)]);
          }
        }
        EXPECT_NEAR(g[node * 3 + static_cast<std::size_t>(tap)], sum, 1e-6 * 81 * 6000);
      }
    }
  }
}

TEST(NonStationaryFilters, of_an_input_without_elements_are_zero) {
  on_ranks([](Comm comm) {
    const auto input = make_array<double>(Layout::scatter(comm, {0, 4}));
    EXPECT_TRUE(non_stationary_filters1d<double>(input, 3, {1}).is_zero());
  });
}

TEST(NonStationaryFilters, reduce_the_filters_once) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const auto expect_calls = [&](const Layout& layout, index_t adjoint_calls) {
      const auto A =
          non_stationary_filters2d<double>(make_array<double>(layout), {3, 3}, {{0, 2}, {1, 3}});
      auto x = make_array<double>(A.domain());
      auto y = make_array<double>(A.range());
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), 0);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), adjoint_calls);
      EXPECT_EQ(A.cost().messages, 0);
      EXPECT_EQ(A.adjoint_cost().messages, static_cast<double>(adjoint_calls));
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.adjoint(y, x, {0, 1});
      });
    };
    expect_calls(Layout::scatter(comm, {3 * comm.size(), 4}), one);
    expect_calls(Layout::replicated(comm, {3, 4}), 0);
  });
}

TEST(NonStationaryFilters, reject_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto x = make_array<double>(Layout::scatter(comm, {4, 5}));
    expect_error<ArgumentError>(comm, {"non_stationary_filters1d", "odd", "(4)"}, [&] {
      non_stationary_filters1d<double>(x, 4, {0, 2});
    });
    expect_error<ArgumentError>(comm, {"non_stationary_filters1d", "position 5"},
                                [&] { non_stationary_filters1d<double>(x, 3, {5}); });
    expect_error<ArgumentError>(comm, {"non_stationary_filters1d", "no positions"},
                                [&] { non_stationary_filters1d<double>(x, 3, {}); });
    expect_error<ArgumentError>(comm, {"non_stationary_filters2d", "1 axes", "expected 2"}, [&] {
      non_stationary_filters2d<double>(x, {3, 3}, {{0, 2}});
    });
    expect_error<ArgumentError>(comm, {"non_stationary_filters2d", "3 axes"}, [&] {
      non_stationary_filters2d<double>(x, {3, 3}, {{0}, {0}}, {.axes = {0, 1, 1}});
    });
  });
}

}  // namespace weft::test
