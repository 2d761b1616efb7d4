#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/seismic/poststack_modelling.hpp>

#include "op/seismic/support/convolved_derivative.hpp"

namespace weft::test {

TEST(PoststackModelling, matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape shape{7, 3};
      // Even numbers, so that results are whole numbers.
      const std::vector<T> wavelet = {T(4), T(-8), T(12), T(8), T(-4)};
      for (const auto kind : {DerivativeKind::centered, DerivativeKind::forward}) {
        const Expected<T> expected(21, 21, [&](index_t row, index_t column) {
          const Index to = point_at(shape, row);
          const Index from = point_at(shape, column);
          if (to[1] != from[1]) return T{};
          return convolved_derivative(wavelet, 7, kind, to[0], from[0]);
        });
        for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
          check_operator(poststack_modelling<T>(layout, wavelet, {.kind = kind}), expected);
        });
      }
    });
  });
}

TEST(PoststackModelling, along_any_axis_with_an_even_wavelet) {
  on_ranks([](Comm comm) {
    const Shape shape{2, 6};
    const std::vector<double> wavelet = {4, 8, -12, 4};
    const Expected<double> expected(12, 12, [&](index_t row, index_t column) {
      const Index to = point_at(shape, row);
      const Index from = point_at(shape, column);
      if (to[0] != from[0]) return 0.0;
      return convolved_derivative(wavelet, 6, DerivativeKind::centered, to[1], from[1]);
    });
    for_operator_layouts<double>(comm, shape, [&](const Layout& layout) {
      check_operator(poststack_modelling<double>(layout, wavelet, {.axis = 1}), expected);
    });
  });
}

TEST(PoststackModelling, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    const std::vector<double> wavelet(3);
    expect_error<ArgumentError>(comm, {"poststack_modelling", "empty"},
                                [&] { poststack_modelling<double>(layout, {}); });
    expect_error<ArgumentError>(comm, {"2"},
                                [&] { poststack_modelling<double>(layout, wavelet, {.axis = 2}); });
  });
}

}  // namespace weft::test
