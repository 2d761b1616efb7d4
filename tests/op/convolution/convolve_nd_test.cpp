#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/convolution/convolve_nd.hpp>

#include "support/allocations.hpp"

namespace weft::test {
namespace {

using Method = ConvolutionMethod;

template <Scalar T>
std::vector<T> some_filter(const Shape& shape) {
  std::vector<T> filter;
  for (index_t j = 0; j < shape.count(); ++j) filter.push_back(value<T>(j, 5));
  return filter;
}

/// Sums of whole numbers are exact.
template <Scalar T>
double tolerance_of(Method method) {
  if (method == Method::direct) return 0;
  return std::same_as<Real<T>, float> ? 5e-6 : 1e-14;
}

/// y[to] = sum over from of h[to - from + offset] x[from]
template <Scalar T>
Expected<T> convolution_matrix(const Shape& array, const std::vector<int>& axes, const Shape& shape,
                               const std::vector<index_t>& offset) {
  const std::vector<T> h = some_filter<T>(shape);
  return {array.count(), array.count(), [&](index_t row, index_t column) {
            const Index to = point_at(array, row);
            Index from = point_at(array, column);
            Index tap = Index::filled(shape.ndim(), 0);
            for (int k = 0; k < shape.ndim(); ++k) {
              const int axis = axes[static_cast<std::size_t>(k)];
              tap[k] = to[axis] - from[axis] + offset[static_cast<std::size_t>(k)];
              if (tap[k] < 0 || tap[k] >= shape[k]) return T{};
              from[axis] = to[axis];
            }
            return to == from ? h[static_cast<std::size_t>(position_of(shape, tap))] : T{};
          }};
}

template <Scalar T>
void check_convolution(const Comm& comm, const Shape& array, const std::vector<int>& axes,
                       const Shape& shape, const std::vector<index_t>& offset, Method method) {
  SCOPED_TRACE(testing::Message() << "filter " << to_string(shape) << " on " << to_string(array)
                                  << ", method " << static_cast<int>(method));
  const auto expected = convolution_matrix<T>(array, axes, shape, offset);
  for_operator_layouts<T>(comm, array, [&](const Layout& layout) {
    check_operator(convolve_nd<T>(layout, shape, some_filter<T>(shape),
                                  {.offset = offset, .axes = axes, .method = method}),
                   expected, tolerance_of<T>(method));
  });
}

}  // namespace

TEST(ConvolveNd, matches_matrix_along_any_axes_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_convolution<T>(comm, {5, 6}, {0, 1}, {3, 2}, {1, 0}, Method::direct);
    });
    check_convolution<double>(comm, {5, 3}, {1, 0}, {2, 3}, {1, 2}, Method::direct);
    check_convolution<float>(comm, {4, 3, 2}, {0, 1}, {3, 3}, {1, 1}, Method::direct);
    check_convolution<double>(comm, {3, 2, 4}, {0, 2}, {2, 3}, {0, 2}, Method::direct);
    check_convolution<double>(comm, {3, 4, 3}, {0, 1, 2}, {3, 1, 2}, {1, 0, 1}, Method::direct);
  });
}

TEST(ConvolveNd, by_fft_matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    check_convolution<double>(comm, {5, 4}, {0, 1}, {3, 2}, {1, 0}, Method::fft);
    check_convolution<float>(comm, {4, 3, 2}, {1, 0}, {2, 3}, {1, 0}, Method::fft);
    check_convolution<std::complex<double>>(comm, {5, 3}, {0, 1}, {2, 3}, {0, 1}, Method::fft);
    check_convolution<std::complex<float>>(comm, {3, 5}, {0, 1}, {1, 3}, {0, 1}, Method::fft);
  });
}

TEST(ConvolveNd, accepts_filters_longer_than_the_array) {
  on_ranks([](Comm comm) {
    for (const Method method : {Method::direct, Method::fft, Method::automatic}) {
      check_convolution<double>(comm, {3, 4}, {0, 1}, {9, 3}, {5, 2}, method);
      check_convolution<std::complex<float>>(comm, {1, 3}, {0, 1}, {3, 7}, {2, 0}, method);
    }
  });
}

TEST(ConvolveNd, treats_rows_of_all_lengths_alike) {
  // Rows shorter and longer than the tiles of the kernel, and with elements after the last tile.
  for (const index_t columns : {7, 63, 64, 100, 1200}) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape array{5, columns};
      const Shape shape{3, 5};
      const Layout layout = Layout::local(array);
      const std::vector<T> h = some_filter<T>(shape);
      const auto x = make_array<T>(layout, 1);
      const auto y =
          (convolve_nd<T>(layout, shape, h, {.offset = {1, 3}, .method = Method::direct}) * x)
              .to_host();
      for (index_t i = 0; i < array.count(); ++i) {
        const Index to = point_at(array, i);
        T sum{};
        for (index_t j = 0; j < shape.count(); ++j) {
          const Index tap = point_at(shape, j);
          const Index from{to[0] + 1 - tap[0], to[1] + 3 - tap[1]};
          if (!whole(array).contains(from)) continue;
          sum += h[static_cast<std::size_t>(j)] *
                 x.local()[static_cast<std::size_t>(position_of(array, from))];
        }
        ASSERT_EQ(y[static_cast<std::size_t>(i)], sum) << to_string(array) << " at " << i;
      }
    });
  }
}

TEST(ConvolveNd, along_one_axis_is_convolve1d) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 70});
    const std::vector<double> h = some_filter<double>({4});
    const auto x = make_array<double>(layout);
    for (const int axis : {0, 1}) {
      const auto A = convolve_nd<double>(layout, {4}, h, {.offset = {1}, .axes = {axis}});
      const auto B = convolve1d<double>(layout, h, {.offset = 1, .axis = axis});
      EXPECT_EQ((A * x).to_host(), (B * x).to_host());
      EXPECT_EQ((adjoint(A) * x).to_host(), (adjoint(B) * x).to_host());
    }
  });
}

TEST(ConvolveNd, chooses_sums_for_small_filters_and_transforms_for_large_ones) {
  const Layout layout = Layout::local({256, 256});
  const auto x = make_array<float>(layout);
  const auto result = [&](const Shape& shape, Method method) {
    const std::vector<float> h = some_filter<float>(shape);
    return (convolve_nd<float>(layout, shape, h, {.method = method}) * x).to_host();
  };
  // Sums of whole numbers are exact, those of transforms are not.
  EXPECT_EQ(result({3, 3}, Method::automatic), result({3, 3}, Method::direct));
  EXPECT_EQ(result({31, 31}, Method::automatic), result({31, 31}, Method::fft));
  EXPECT_NE(result({31, 31}, Method::automatic), result({31, 31}, Method::direct));
}

TEST(ConvolveNd, accepts_arrays_without_elements) {
  on_ranks([](Comm comm) {
    for (const Shape& array : {Shape{0, 4}, Shape{4, 0}, Shape{2, 0, 3}}) {
      const Layout layout = Layout::scatter(comm, array);
      const auto A = convolve_nd<double>(layout, {3, 2}, some_filter<double>({3, 2}));
      EXPECT_EQ((A * make_array<double>(layout)).layout(), layout);
    }
  });
}

TEST(ConvolveNd, communicates_by_one_halo_or_redistribution) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 4});
    const index_t neighbours =
        (comm.rank() == 0 ? 0 : 1) + (comm.rank() == comm.size() - 1 ? 0 : 1);
    const auto expect_calls = [&](std::vector<int> axes, Method method, index_t calls) {
      const Shape shape(Index::filled(static_cast<int>(axes.size()), 3));
      const std::vector<index_t> middle(axes.size(), 1);
      const auto A = convolve_nd<double>(rows, shape, some_filter<double>(shape),
                                         {.offset = middle, .axes = axes, .method = method});
      auto x = make_array<double>(rows);
      auto y = make_array<double>(rows);
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), calls);
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.adjoint(y, x, {0, 1});
      });
      return A.cost().messages;
    };
    // A send and a receive to each neighbour.
    EXPECT_EQ(expect_calls({0, 1}, Method::direct, 2 * neighbours),
              static_cast<double>(neighbours));
    expect_calls({1}, Method::direct, 0);
    expect_calls({0, 1}, Method::fft, comm.size() > 1 ? 2 : 0);
    expect_calls({1}, Method::fft, 0);
  });
}

TEST(ConvolveNd, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const std::vector<double> h(6);
    const auto expect_rejected = [&](std::vector<std::string> words, const Shape& shape,
                                     const ConvolveNdOptions& options) {
      words.emplace_back("convolve_nd");
      expect_error<ArgumentError>(comm, words,
                                  [&] { convolve_nd<double>(layout, shape, h, options); });
    };
    expect_rejected({"(0, 3)", "empty"}, {0, 3}, {});
    expect_rejected({"6 elements", "(2, 2)"}, {2, 2}, {});
    expect_rejected({"3 axes", "(4, 5)"}, {1, 2, 3}, {});
    expect_rejected({"1 axes", "(2, 3)"}, {2, 3}, {.axes = {0}});
    expect_rejected({"axis 1", "twice"}, {2, 3}, {.axes = {1, -1}});
    expect_rejected({"2"}, {2, 3}, {.axes = {0, 2}});
    expect_rejected({"3 offsets", "(2, 3)"}, {2, 3}, {.offset = {0, 0, 0}});
    expect_rejected({"offset (2, 0)", "(2, 3)"}, {2, 3}, {.offset = {2, 0}});
    expect_rejected({"offset (0, -1)"}, {2, 3}, {.offset = {0, -1}});
    expect_rejected({"ConvolutionMethod", "5"}, {2, 3}, {.method = static_cast<Method>(5)});
  });
}

}  // namespace weft::test
