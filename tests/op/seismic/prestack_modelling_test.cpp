#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/seismic/prestack_modelling.hpp>

#include "op/seismic/support/convolved_derivative.hpp"

namespace weft::test {
namespace {

std::vector<double> whole_numbers(double theta, double vsvp) { return {theta, -2 * vsvp, 3}; }

}  // namespace

TEST(PrestackModelling, matches_matrix_on_distributed_samples_and_traces) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape model{5, 3, 2};
      const Shape data{5, 2, 2};
      const std::vector<double> theta = {1, 4};
      const std::vector<double> vsvp = {1, 2, 3, 4, 5};
      const std::vector<T> wavelet = {T(2), T(-4), T(6)};
      // Coefficients depend on the sample of the derivative, before the convolution.
      const Expected<T> expected(20, 30, [&](index_t row, index_t column) {
        const Index to = point_at(data, row);
        const Index from = point_at(model, column);
        if (to[2] != from[2]) return T{};
        T sum{};
        for (index_t at = 0; at < 5; ++at) {
          const index_t tap = to[0] - at + 1;
          if (tap < 0 || tap > 2) continue;
          const auto g = whole_numbers(theta[static_cast<std::size_t>(to[1])],
                                       vsvp[static_cast<std::size_t>(at)]);
          sum += static_cast<Real<T>>(g[static_cast<std::size_t>(from[1])] *
                                      derivative_entry(5, DerivativeKind::backward, at, from[0])) *
                 wavelet[static_cast<std::size_t>(tap)];
        }
        return sum;
      });
      for (const Layout& layout :
           {Layout::local(model), Layout::replicated(comm, model), Layout::scatter(comm, model),
            Layout::scatter(comm, model, 2), Layout::on_rank(comm, model, comm.size() - 1)}) {
        check_operator(
            prestack_modelling<T>(
                layout, wavelet, theta,
                {.vsvp = vsvp, .linearization = whole_numbers, .kind = DerivativeKind::backward}),
            expected);
      }
    });
  });
}

TEST(PrestackModelling, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3, 2});
    const std::vector<double> wavelet(3);
    expect_error<ArgumentError>(comm, {"prestack_modelling", "empty"},
                                [&] { prestack_modelling<double>(layout, {}, {1}); });
    expect_error<ArgumentError>(comm, {"no angles"},
                                [&] { prestack_modelling<double>(layout, wavelet, {}); });
    expect_error<ArgumentError>(comm, {"vsvp", "0"}, [&] {
      prestack_modelling<double>(layout, wavelet, {1}, {.vsvp = {0}});
    });
  });
}

}  // namespace weft::test
