#include <weft/op/fourier/dct.hpp>

#include "op/support/check_operator.hpp"
#include "support/allocations.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

#include <cmath>
#include <numbers>

namespace weft::test {
namespace {

/// The entry of the orthonormal cosine transform of n elements.
double cosine(int type, index_t n, index_t row, index_t column) {
  const auto j = static_cast<double>(column);
  const auto k = static_cast<double>(row);
  const auto size = static_cast<double>(n);
  const double pi = std::numbers::pi;
  const auto half_at = [](bool end) { return end ? std::sqrt(0.5) : 1.0; };
  switch (type) {
    case 1:
      return std::sqrt(2 / (size - 1)) * half_at(column == 0 || column == n - 1) *
             half_at(row == 0 || row == n - 1) * std::cos(pi * j * k / (size - 1));
    case 2:
      return std::sqrt(2 / size) * half_at(row == 0) * std::cos(pi * (2 * j + 1) * k / (2 * size));
    case 3:
      return std::sqrt(2 / size) * half_at(column == 0) *
             std::cos(pi * j * (2 * k + 1) / (2 * size));
    default: return std::sqrt(2 / size) * std::cos(pi * (2 * j + 1) * (2 * k + 1) / (4 * size));
  }
}

template <Scalar T>
Expected<T> cosine_matrix(const Shape& shape, int type, const std::vector<int>& axes) {
  return {shape.count(), shape.count(), [&](index_t row, index_t column) {
            const Index k = point_at(shape, row);
            const Index j = point_at(shape, column);
            Index elsewhere = k;
            double entry = 1;
            for (const int axis : axes) {
              entry *= cosine(type, shape[axis], k[axis], j[axis]);
              elsewhere[axis] = j[axis];
            }
            return elsewhere == j ? T(static_cast<Real<T>>(entry)) : T{};
          }};
}

template <Scalar T>
double tolerance() {
  return std::same_as<Real<T>, float> ? 3e-6 : 1e-14;
}

template <Scalar T>
void check_layouts(const Comm& comm, const Shape& shape, int type, const std::vector<int>& axes) {
  const auto expected = cosine_matrix<T>(shape, type, axes);
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    check_operator(dct<T>(layout, {.type = type, .axes = axes}), expected, tolerance<T>());
  });
}

}  // namespace

TEST(Dct, matches_matrix_along_any_axes_of_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      check_layouts<T>(comm, {5, 4}, 2, {0, 1});
      check_layouts<T>(comm, {5, 4}, 2, {0});
      if constexpr (std::same_as<Real<T>, double>) {
        check_layouts<T>(comm, {7}, 2, {0});
        check_layouts<T>(comm, {2, 3, 2}, 3, {2, 1});
      }
    });
  });
}

TEST(Dct, matches_matrix_of_all_types) {
  on_ranks([](Comm comm) {
    for (const int type : {1, 2, 3, 4}) {
      check_layouts<double>(comm, {6, 3}, type, {0, 1});
      check_layouts<std::complex<float>>(comm, {5, 2}, type, {0});
    }
  });
}

TEST(Dct, matches_matrix_of_any_length_on_any_device) {
  for (const Device device : {Device::cpu(), other_device()}) {
    for (const int type : {1, 2, 3, 4}) {
      for (const index_t n : {1, 2, 3, 8, 9}) {
        if (type == 1 && n == 1) continue;
        check_operator(dct<float>(Layout::local({2, n, 3}).on(device), {.type = type, .axes = {1}}),
                       cosine_matrix<float>({2, n, 3}, type, {1}), tolerance<float>());
      }
      check_operator(dct<double>(Layout::local({7}).on(device), {.type = type}),
                     cosine_matrix<double>({7}, type, {0}), tolerance<double>());
    }
  }
}

TEST(Dct, transforms_all_axes_by_default) {
  const Layout layout = Layout::local({3, 4});
  const auto x = make_array<double>(layout);
  auto y = dct<double>(layout) * x;
  axpy(-1, dct<double>(layout, {.axes = {-1, 0}}) * x, y);
  EXPECT_LE(norm(y), 1e-15 * norm(x));
}

TEST(Dct, types_2_and_3_are_adjoint) {
  const Layout layout = Layout::local({9, 2});
  const auto x = random_array<double>(layout, 1);
  auto y = adjoint(dct<double>(layout, {.type = 2})) * x;
  axpy(-1, dct<double>(layout, {.type = 3}) * x, y);
  EXPECT_LE(norm(y), 1e-15 * norm(x));
}

TEST(Dct, normal_is_the_identity) {
  EXPECT_TRUE(dct<float>(Layout::local({5, 3})).normal().is_identity());
}

TEST(Dct, works_on_unaligned_memory) {
  const Layout layout = Layout::local({12});
  const auto A = dct<float>(layout, {.planning = FftPlanning::measure});
  const auto x = make_array<float>(layout, 1);
  std::vector<float> memory(13);
  std::vector<float> result(13);
  auto odd = ArrayView<float>(layout, memory.data() + 1, 12);
  auto into = ArrayView<float>(layout, result.data() + 1, 12);
  copy(x, odd);
  A.forward(odd, into);
  axpy(-1, A * x, into);
  EXPECT_LE(norm(into), 1e-6 * norm(x));
}

TEST(Dct, communicates_only_along_distributed_axes) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t two = comm.size() > 1 ? 2 : 0;
    const auto expect_calls = [&](const Layout& layout, const std::vector<int>& axes,
                                  index_t calls) {
      const auto A = dct<double>(layout, {.axes = axes});
      auto x = make_array<double>(layout);
      auto y = make_array<double>(layout);
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), calls);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), calls);
      EXPECT_EQ(A.cost().messages, static_cast<double>(calls));
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.adjoint(y, x, {0, 1});
      });
    };
    const Layout rows = Layout::scatter(comm, {14, 15});
    expect_calls(rows, {0}, two);
    expect_calls(rows, {1}, 0);
    expect_calls(rows, {0, 1}, two);
    expect_calls(Layout::replicated(comm, {4, 5}), {0, 1}, 0);
  });
}

TEST(Dct, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const auto make = [](const Layout& at, const DctOptions& options) { dct<double>(at, options); };
    for (const int type : {0, 5, -1}) {
      expect_error<ArgumentError>(comm, {"dct", "type", fmt::format("got {}", type)},
                                  [&] { make(layout, {.type = type}); });
    }
    expect_error<ArgumentError>(comm, {"dct", "2"}, [&] { make(layout, {.axes = {2}}); });
    expect_error<ArgumentError>(comm, {"dct", "axis 1", "twice"}, [&] {
      make(layout, {.axes = {1, -1}});
    });
    expect_error<ArgumentError>(comm, {"dct", "axis 1", "0 elements"}, [&] {
      make(Layout::scatter(comm, {4, 0}), {});
    });
    expect_error<ArgumentError>(comm, {"dct", "axis 0", "1 elements", "type 1", "at least 2"}, [&] {
      make(Layout::scatter(comm, {1, 4}), {.type = 1});
    });
    expect_error<ArgumentError>(comm, {"dct", "FftPlanning"},
                                [&] { make(layout, {.planning = static_cast<FftPlanning>(7)}); });
    expect_error<ArgumentError>(comm, {"stack"}, [&] { make(Layout::stack({layout}), {}); });
  });
}

}  // namespace weft::test
