#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/inversion.hpp>

#include "io/folder.hpp"
#include "solve/support/dense.hpp"
#include "support/ranks.hpp"

#include <limits>

namespace weft::test {
namespace {

/// A least-squares problem with weighted blocks of rows.
struct Rows {
  RealMatrix matrix{0, 0};
  std::vector<double> data = {};

  Rows& add(double weight, const RealMatrix& more, const std::vector<double>& of_more) {
    matrix.columns = more.columns;
    matrix.rows += more.rows;
    for (const double value : more.values) matrix.values.push_back(weight * value);
    for (const double value : of_more) data.push_back(weight * value);
    return *this;
  }
  /// A regularizer without data.
  Rows& add(double weight, const RealMatrix& more) {
    return add(weight, more, std::vector<double>(static_cast<std::size_t>(more.rows)));
  }

  std::vector<double> residual(const std::vector<double>& x) const {
    return plus(data, -1, product(matrix, x));
  }
  double gradient_norm(const std::vector<double>& x, double damp) const {
    return size_of_vector(plus(product(transposed(matrix), residual(x)), -damp * damp, x));
  }
};

RealMatrix unit_matrix(index_t n) {
  RealMatrix matrix(n, n);
  for (index_t i = 0; i < n; ++i) matrix(i, i) = 1;
  return matrix;
}

/// Forward differences.
RealMatrix difference_matrix(index_t n) {
  RealMatrix matrix(n, n);
  for (index_t i = 0; i + 1 < n; ++i) {
    matrix(i, i) = -1;
    matrix(i, i + 1) = 1;
  }
  return matrix;
}

/// A test operator and its matrix.
template <Scalar D, Scalar R>
struct Known {
  Known(const Layout& domain, const Layout& range, int seed)
      : a(some_operator<D, R>(domain, range, seed)),
        matrix(real_matrix(some_matrix<D, R>(range.count(), domain.count(), seed))) {}

  LinearOperator<D, R> a;
  RealMatrix matrix;
};

template <Scalar T>
std::vector<double> parts_in(const Layout& layout, int seed) {
  return parts_of(global_values<T>(layout, seed));
}

/// Two regularizers, one of them with data, a weight that is not a square matrix, damping and x0,
/// by both methods.
template <Scalar D, Scalar R>
void check_everything(const Layout& domain, const Layout& range, const Layout& other) {
  const bool single = std::same_as<Real<D>, float>;
  const SolverOptions options{.max_iterations = 200, .relative_tolerance = single ? 3e-7 : 1e-12};
  const double tolerance = single ? 2e-4 : 1e-8;
  const double damp = 1.25;
  const Known<D, R> a(domain, range, 1);
  const Known<D, D> first(domain, other, 2);
  const Known<D, D> second(domain, domain, 3);
  const Known<R, R> root(range, range, 4);
  const auto y = make_array<R>(range, 5);
  const std::vector<Regularizer<D>> regularizers = {{first.a, 2.5, make_array<D>(other, 6)},
                                                    {.op = second.a, .weight = 0.5}};
  const std::optional<DistributedArray<D>> x0 = make_array<D>(domain, 7);

  for (const bool weighted : {false, true}) {
    // Integers up to 9 as weights would make the regularizers negligible.
    const auto small = static_cast<Real<R>>(1.0 / 16);
    const LinearOperator<R> V = small * root.a;
    const RealMatrix data_rows = weighted ? product(root.matrix, a.matrix) : a.matrix;
    const std::vector<double> data =
        weighted ? product(root.matrix, parts_in<R>(range, 5)) : parts_in<R>(range, 5);
    Rows of_data;
    of_data.add(weighted ? 1.0 / 16 : 1, data_rows, data);
    Rows all = of_data;
    all.add(2.5, first.matrix, parts_in<D>(other, 6)).add(0.5, second.matrix);
    const std::vector<double> expected = least_squares(all.matrix, all.data, damp);
    const double misfit = size_of_vector(of_data.residual(expected));

    InversionOptions<D, R> with{.damp = damp, .x0 = x0};
    NormalEquationsOptions<D, R> normal_with{.damp = damp, .x0 = x0};
    if (weighted) {
      with.root_weight = V;
      normal_with.weight = V.normal();
    }
    const auto fit = regularized_inversion(a.a, y, regularizers, options, with);
    const auto normal = normal_equations_inversion(a.a, y, regularizers, options, normal_with);
    for (const auto* solution : {&fit, &normal}) {
      EXPECT_EQ(solution->reason, StopReason::converged) << solution->message;
      expect_near(solution->x, expected, tolerance);
      EXPECT_NEAR(solution->residual_norm, misfit, tolerance * size_of_vector(of_data.data));
      const double gradient = all.gradient_norm(parts_of(whole(solution->x)), damp);
      const double largest = all.gradient_norm(std::vector<double>(expected.size()), damp);
      EXPECT_NEAR(solution->gradient_norm, gradient, (single ? 1e-5 : 1e-11) * largest);
    }
  }
  EXPECT_EQ(whole(*x0), global_values<D>(domain, 7));
}

}  // namespace

TEST(Inversion, all_pairs_of_scalars) {
  on_ranks([](Comm comm) {
    const Layout domain = Layout::scatter(comm, {5});
    const Layout range = Layout::scatter(comm, {9});
    const Layout other = Layout::scatter(comm, {4});
#define CHECK_PAIR(D, R) check_everything<D, R>(domain, range, other);
    WEFT_FOR_EACH_OPERATOR(CHECK_PAIR)
#undef CHECK_PAIR
  });
}

TEST(Inversion, all_layouts) {
  on_ranks([](Comm comm) {
    const auto check = [](const Layout& domain, const Layout& range, const Layout& other) {
      SCOPED_TRACE(to_string(domain));
      check_everything<double, double>(domain, range, other);
    };
    const Layout tall = Layout::scatter(comm, {9});
    const Layout grid = Layout::bricks(comm, {2, 3});
    const Layout copies = Layout::replicated(comm, {5});
    const Layout mixed = Layout::stack({copies, Layout::scatter(comm, {3})});
    check(grid, tall, copies);
    check(copies, tall, grid);
    check(mixed, Layout::stack({tall, copies}), mixed);
    check(grid.on(other_device()), tall.on(other_device()), copies.on(other_device()));
    check(Layout::local({4}), Layout::local({6}), Layout::local({3}));
  });
}

TEST(Inversion, more_unknowns_than_data) {
  on_ranks([](Comm comm) {
    const Layout domain = Layout::scatter(comm, {9});
    const Layout range = Layout::scatter(comm, {4});
    const Layout other = Layout::scatter(comm, {6});
    check_everything<double, double>(domain, range, other);
    check_everything<std::complex<double>, std::complex<double>>(domain, range, other);
  });
}

TEST(Inversion, resumes_from_a_checkpoint) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {40});
    const auto a = first_derivative<double>(line);
    const auto y = make_array<double>(line, 1);
    const std::vector<Regularizer<double>> regularizers = {
        {.op = identity<double>(line), .weight = 0.1, .data = make_array<double>(line, 2)}};
    const auto expect_resumes = [&](const auto& invert) {
      in_folder(comm, [&](const std::string& folder) {
        SolverOptions options{.max_iterations = 12, .relative_tolerance = 0};
        const auto uninterrupted = invert(regularizers, options);
        options.checkpoint = {.path = folder + "/state"};
        options.max_iterations = 5;
        invert(regularizers, options);
        options.max_iterations = 12;
        const auto resumed = invert(regularizers, options);
        EXPECT_EQ(resumed.x.to_host(), uninterrupted.x.to_host());
        EXPECT_EQ(resumed.history.size(), uninterrupted.history.size());

        const std::vector<Regularizer<double>> heavier = {
            {.op = identity<double>(line), .weight = 0.2, .data = make_array<double>(line, 2)}};
        expect_error<AgreedError>(comm, {"another problem"}, [&] { invert(heavier, options); });
      });
    };
    expect_resumes([&](const auto& with, const SolverOptions& options) {
      return regularized_inversion(a, y, with, options);
    });
    expect_resumes([&](const auto& with, const SolverOptions& options) {
      return normal_equations_inversion(a, y, with, options);
    });
  });
}

TEST(Inversion, integrates_towards_a_prior) {
  on_ranks([](Comm comm) {
    // Small differences between neighbours, and a weak prior.
    const index_t n = 24;
    const Layout line = Layout::scatter(comm, {n});
    const auto data = array_of(line, some_vector(n, 1));
    const auto prior = array_of(line, some_vector(n, 2));
    const auto a = first_derivative<double>(line, {.kind = DerivativeKind::forward});
    const std::vector<Regularizer<double>> regularizers = {
        {.op = identity<double>(line), .weight = 0.1, .data = prior},
        {.op = a, .weight = 2},
    };
    Rows all;
    all.add(1, difference_matrix(n), some_vector(n, 1));
    all.add(0.1, unit_matrix(n), some_vector(n, 2)).add(2, difference_matrix(n));
    const std::vector<double> expected = least_squares(all.matrix, all.data);
    const SolverOptions options{.max_iterations = 200, .relative_tolerance = 1e-13};
    expect_near(regularized_inversion(a, data, regularizers, options).x, expected, 1e-8);
    expect_near(normal_equations_inversion(a, data, regularizers, options).x, expected, 1e-8);
  });
}

TEST(Inversion, a_replicated_model_with_distributed_data) {
  on_ranks([](Comm comm) {
    const index_t n = 6;
    const Layout here = Layout::local({n});
    const auto mine = some_operator<double>(here, Layout::local({3}), comm.rank());
    const auto a = vstack(comm, std::vector{mine});
    const auto y = make_array<double>(a.range(), 3);
    const std::vector<Regularizer<double>> regularizers = {
        {.op = first_derivative<double>(a.domain(), {.kind = DerivativeKind::forward}),
         .weight = 3},
        {.op = identity<double>(a.domain()), .data = make_array<double>(a.domain(), 4)}};

    RealMatrix matrix(0, n);
    for (int rank = 0; rank < comm.size(); ++rank) {
      const RealMatrix rows = real_matrix(some_matrix<double>(3, n, rank));
      matrix.rows += rows.rows;
      matrix.values.insert(matrix.values.end(), rows.values.begin(), rows.values.end());
    }
    Rows all;
    all.add(1, matrix, global_values<double>(a.range(), 3)).add(3, difference_matrix(n));
    all.add(1, unit_matrix(n), global_values<double>(a.domain(), 4));
    const std::vector<double> expected = least_squares(all.matrix, all.data);
    const SolverOptions options{.relative_tolerance = 1e-13};
    for (const auto& fit : {regularized_inversion(a, y, regularizers, options),
                            normal_equations_inversion(a, y, regularizers, options)}) {
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      expect_near(fit.x, expected, 1e-9);
    }
  });
}

TEST(Inversion, without_regularizers_is_least_squares) {
  on_ranks([](Comm comm) {
    const RealMatrix matrix = some_real_matrix(11, 5);
    const auto a = operator_of(comm, matrix);
    const auto y = array_of(a.range(), some_vector(11, 2));
    const auto left_out = identity<double>(a.domain());
    const SolverOptions options{.relative_tolerance = 1e-13};
    const std::vector<double> expected = least_squares(matrix, some_vector(11, 2));
    for (const std::vector<Regularizer<double>>& regularizers :
         {std::vector<Regularizer<double>>{}, {{.op = left_out, .weight = 0}}}) {
      const auto fit = regularized_inversion(a, y, regularizers, options);
      expect_near(fit.x, expected, 1e-10);
      EXPECT_NEAR(fit.residual_norm, cgls(a, y, options).residual_norm, 1e-9);
      expect_near(normal_equations_inversion(a, y, regularizers, options).x, expected, 1e-9);
    }
  });
}

TEST(Inversion, passes_the_preconditioner_on) {
  on_ranks([](Comm comm) {
    const Layout line = Layout::scatter(comm, {20});
    const auto y = make_array<double>(line, 1);
    const std::vector<Regularizer<double>> regularizers = {
        {.op = first_derivative<double>(line), .weight = 2}};
    const SolverOptions options{.relative_tolerance = 1e-11};
    const auto a = identity<double>(line);
    const auto plain = regularized_inversion(a, y, regularizers, options);
    const auto m = 0.25 * identity<double>(line);
    const auto same = regularized_inversion(a, y, regularizers, options, {.preconditioner = m});
    const auto normal =
        normal_equations_inversion(a, y, regularizers, options, {.preconditioner = m});
    expect_near(same.x, whole(plain.x), 1e-9);
    expect_near(normal.x, whole(plain.x), 1e-9);
    const auto negative =
        regularized_inversion(a, y, regularizers, options, {.preconditioner = -m});
    EXPECT_EQ(negative.reason, StopReason::breakdown);
  });
}

TEST(Inversion, preconditioned_inversion_returns_x_and_p) {
  on_ranks([](Comm comm) {
    using T = std::complex<double>;
    const Layout few = Layout::scatter(comm, {4});
    const Layout model = Layout::scatter(comm, {7});
    const Known<T, T> a(model, Layout::scatter(comm, {9}), 1);
    const Known<T, T> p(few, model, 2);
    const auto y = make_array<T>(a.a.range(), 3);
    const RealMatrix product_matrix = product(a.matrix, p.matrix);
    const std::vector<double> data = parts_in<T>(a.a.range(), 3);
    for (const double damp : {0.0, 20.0}) {
      const auto fit =
          preconditioned_inversion(a.a, y, p.a, {.relative_tolerance = 1e-13}, {.damp = damp});
      EXPECT_EQ(fit.reason, StopReason::converged) << fit.message;
      const std::vector<double> of_p = least_squares(product_matrix, data, damp);
      const std::vector<double> x = product(p.matrix, of_p);
      expect_near(fit.p, of_p, 1e-9);
      expect_near(fit.x, x, 1e-9);
      const double residual = size_of_vector(plus(data, -1, product(a.matrix, x)));
      EXPECT_NEAR(fit.residual_norm, residual, 1e-9 * residual);

      const auto again = preconditioned_inversion(a.a, y, p.a, {.relative_tolerance = 1e-9},
                                                  {.damp = damp, .p0 = fit.p});
      EXPECT_EQ(again.iterations, 0);
      expect_near(again.x, x, 1e-9);
    }
  });
}

TEST(Inversion, rejects_mismatched_arguments) {
  on_ranks([](Comm comm) {
    const auto a = operator_of(comm, some_real_matrix(9, 4));
    const auto y = array_of(a.range(), some_vector(9));
    const DistributedArray<double> other(Layout::scatter(comm, {5}));
    const auto fits = identity<double>(a.domain());
    const auto does_not = identity<double>(other.layout());
    const std::string four = to_string(a.domain());
    const std::string five = to_string(other.layout());
    const std::string nine = to_string(a.range());
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    using Regularizers = std::vector<Regularizer<double>>;

    const auto refused = [&](std::vector<std::string> words, const auto& call) {
      expect_error<ArgumentError>(comm, words, call);
    };
    const auto both = [&](std::vector<std::string> words, const ConstArrayView<double>& data,
                          const Regularizers& regularizers) {
      words.emplace_back("regularized_inversion: ");
      refused(words, [&] { regularized_inversion(a, data, regularizers); });
      words.back() = "normal_equations_inversion: ";
      refused(words, [&] { normal_equations_inversion(a, data, regularizers); });
    };
    both({nine, five, "y is"}, other, {});
    both({four, five, "regularizer 1 takes"}, y, {{.op = fits}, {.op = does_not}});
    both({four, five, "data"}, y, {{.op = fits, .data = other}});
    both({"weight of regularizer 0 is -2"}, y, {{.op = fits, .weight = -2}});
    both({"weight of regularizer 1 is nan"}, y, {{.op = fits}, {.op = fits, .weight = nan}});
    both({"weight", "inf"}, y, {{.op = fits, .weight = -std::log(0.0)}});

    const Regularizers one = {{.op = fits}};
    refused({"regularized_inversion", nine, five, "root_weight"},
            [&] { regularized_inversion(a, y, one, {}, {.root_weight = does_not}); });
    refused({"normal_equations_inversion", nine, five, "weight"},
            [&] { normal_equations_inversion(a, y, one, {}, {.weight = does_not}); });
    refused({"damp = -1"}, [&] { regularized_inversion(a, y, one, {}, {.damp = -1}); });
    refused({"damp = nan"}, [&] { normal_equations_inversion(a, y, one, {}, {.damp = nan}); });
    refused({four, five, "x0"}, [&] { regularized_inversion(a, y, one, {}, {.x0 = other}); });
    refused({four, five, "x0"}, [&] { normal_equations_inversion(a, y, one, {}, {.x0 = other}); });
    refused({four, five, "preconditioner"},
            [&] { regularized_inversion(a, y, one, {}, {.preconditioner = does_not}); });

    refused({"preconditioned_inversion", four, five, "P returns"},
            [&] { preconditioned_inversion(a, y, does_not); });
    refused({nine, five, "y is"}, [&] { preconditioned_inversion(a, other, fits); });
    refused({four, five, "p0"}, [&] { preconditioned_inversion(a, y, fits, {}, {.p0 = other}); });
    refused({"damp = -3"}, [&] { preconditioned_inversion(a, y, fits, {}, {.damp = -3}); });
    refused({"max_iterations = 0"},
            [&] { regularized_inversion(a, y, one, {.max_iterations = 0}); });
    if (other_device() == Device::cpu()) return;
    const auto away = some_operator<double>(a.domain(), other.layout().on(other_device()), 1);
    both({"device"}, y, {{.op = away}});
  });
}

}  // namespace weft::test
