#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/seismic/avo_modelling.hpp>

#include "support/allocations.hpp"

#include <limits>

namespace weft::test {
namespace {

/// Whole numbers, so that results are exact.
std::vector<double> whole_numbers(double theta, double vsvp) { return {theta, -2 * vsvp, 3}; }

/// Layouts of a model, whose axis 1 must not be distributed.
template <Scalar T, class F>
void for_model_layouts(const Comm& comm, const Shape& shape, F f) {
  for_operator_layouts<T>(comm, shape, [&](const Layout& layout) {
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (layout.comm().size() == 1) break;
      if (layout.local_count(rank) > 0 && layout.box(rank).shape[1] != shape[1]) return;
    }
    f(layout);
  });
}

/// Entry ((t, a, ..), (t, j, ..)) is coefficient j for angle a and sample t.
template <Scalar T>
Expected<T> avo_matrix(const Shape& model, const std::vector<double>& theta,
                       const std::vector<double>& vsvp, const AvoLinearization& linearization) {
  const Shape data = model.with(1, std::ssize(theta));
  return {data.count(), model.count(), [&, data](index_t row, index_t column) {
            const Index to = point_at(data, row);
            const Index from = point_at(model, column);
            Index there = from;
            there[1] = to[1];
            if (there != to) return T{};
            const double ratio = vsvp[vsvp.size() == 1 ? 0 : static_cast<std::size_t>(to[0])];
            const auto g = linearization(theta[static_cast<std::size_t>(to[1])], ratio);
            return T(static_cast<Real<T>>(g[static_cast<std::size_t>(from[1])]));
          }};
}

}  // namespace

TEST(AvoModelling, matches_matrix_in_any_layout) {
  on_ranks([](Comm comm) {
    const std::vector<double> theta = {1, 4};
    const std::vector<double> vsvp = {1, 2, 3, 4, 5};
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : {Shape{5, 3}, Shape{5, 3, 2}}) {
        const auto expected = avo_matrix<T>(shape, theta, vsvp, whole_numbers);
        for_model_layouts<T>(comm, shape, [&](const Layout& layout) {
          check_operator(
              avo_modelling<T>(layout, theta, {.vsvp = vsvp, .linearization = whole_numbers}),
              expected);
        });
      }
    });
    const auto expected = avo_matrix<double>({3, 3, 4}, {2, 5, 1, 3}, {2}, whole_numbers);
    for_model_layouts<double>(comm, {3, 3, 4}, [&](const Layout& layout) {
      check_operator(avo_modelling<double>(layout, {2, 5, 1, 3},
                                           {.vsvp = {2}, .linearization = whole_numbers}),
                     expected);
    });
  });
}

TEST(AvoModelling, knows_the_linearizations) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3, 2});
    const std::vector<double> theta = {0, 12, 33};
    for (const auto& linearization : {aki_richards, fatti, ps}) {
      check_operator(
          avo_modelling<double>(layout, theta, {.vsvp = {0.6}, .linearization = linearization}),
          avo_matrix<double>({4, 3, 2}, theta, {0.6}, linearization), 1e-14);
    }
    check_operator(avo_modelling<double>(layout, theta),
                   avo_matrix<double>({4, 3, 2}, theta, {0.5}, aki_richards), 1e-14);
  });
}

TEST(AvoModelling, accepts_any_number_of_parameters) {
  on_ranks([](Comm comm) {
    const auto one = [](double theta, double) { return std::vector<double>{theta}; };
    check_operator(
        avo_modelling<double>(Layout::scatter(comm, {4, 1}), {2, 3}, {.linearization = one}),
        avo_matrix<double>({4, 1}, {2, 3}, {0.5}, one));
  });
}

TEST(AvoModelling, accepts_models_without_samples_or_traces) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{0, 3, 2}, Shape{4, 3, 0}}) {
      const Layout layout = Layout::scatter(comm, shape);
      const auto A = avo_modelling<double>(layout, {10, 20});
      EXPECT_EQ((A * make_array<double>(layout)).shape(), shape.with(1, 2));
    }
  });
}

TEST(AvoModelling, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 3, 2});
    const auto expect_rejected = [&](std::vector<std::string> words, const Layout& model,
                                     const std::vector<double>& theta,
                                     const AvoModellingOptions& options = {}) {
      expect_error<ArgumentError>(comm, words,
                                  [&] { avo_modelling<double>(model, theta, options); });
    };
    const std::string who = "avo_modelling";
    expect_rejected({who, "samples, parameters"}, Layout::scatter(comm, {4}), {1});
    expect_rejected({who, "no angles"}, layout, {});
    expect_rejected({"aki_richards", "95"}, layout, {1, 95});
    expect_rejected({who, "3 coefficients", "2 parameters"}, Layout::scatter(comm, {4, 2}), {1});
    expect_rejected({who, "3 values of vsvp", "4 samples"}, layout, {1}, {.vsvp = {1, 2, 3}});
    expect_rejected({who, "vsvp", "-1"}, layout, {1}, {.vsvp = {-1}});
    expect_rejected({who, "linearization is empty"}, layout, {1}, {.linearization = nullptr});
    if (comm.size() > 1) {
      expect_rejected({who, "axis 1", "distributed"}, Layout::scatter(comm, {4, 3}, 1), {1});
    }
  });
}

}  // namespace weft::test
