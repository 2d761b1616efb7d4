// Solvers reject checkpoints of another problem.

#include <weft/solve/cg.hpp>
#include <weft/solve/ista.hpp>
#include <weft/solve/lsqr.hpp>
#include <weft/solve/total_variation.hpp>

#include "op/support/check_operator.hpp"
#include "solve/support/checkpoints.hpp"
#include "support/ranks.hpp"

#include <cmath>

namespace weft::test {

TEST(OtherProblem, of_cgls_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Setting setting;
      setting.make(comm, up_to(5, path))->run();
      comm.barrier();
      const auto refused = [&](const std::string& reason, const Setting& other) {
        expect_refused(path, reason, [&] { other.make(comm, up_to(9, path)); });
      };
      refused("y", {.data_seed = 4});
      refused("damp was 0.5 in the checkpoint and is 0.25 now", {.damp = 0.25});
      refused("at the start", {.operator_seed = 7});
      refused("x| at the start", {.has_x0 = true});
      refused("of (40)", {.rows = 41});
      const Layout layout = Layout::scatter(comm, {40});
      expect_refused(path, "its solver is cgls, and this one is cg", [&] {
        Cg<double>(positive_operator<double>(layout), make_array<double>(layout, 3),
                   up_to(9, path));
      });
      expect_refused(path, "f32", [&] {
        Cgls<float, float>(positive_operator<float>(layout), make_array<float>(layout, 3),
                           up_to(9, path), {.damp = 0.5});
      });
      EXPECT_EQ(setting.make(comm, up_to(9, path))->iteration(), 5);
    });
  });
}

TEST(OtherProblem, of_lsqr_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Layout layout = Layout::scatter(comm, {40});
      const auto make = [&](const LsqrOptions<double>& own, int operator_seed, int data_seed) {
        return std::make_unique<Lsqr<double, double>>(
            positive_operator<double>(layout, operator_seed), make_array<double>(layout, data_seed),
            up_to(9, path), own);
      };
      make({.damp = 0.5}, 1, 3)->run();
      comm.barrier();
      const auto refused = [&](const std::string& reason, const LsqrOptions<double>& own,
                               int operator_seed = 1, int data_seed = 3) {
        expect_refused(path, reason, [&] { make(own, operator_seed, data_seed); });
      };
      refused("damp was 0.5 in the checkpoint and is 0.25 now", {.damp = 0.25});
      refused("variance", {.damp = 0.5, .variance = true});
      refused("|y|", {.damp = 0.5}, 1, 4);
      refused("|v| at the start", {.damp = 0.5}, 7);
      EXPECT_EQ(make({.damp = 0.5}, 1, 3)->iteration(), 9);
    });
  });
}

TEST(OtherProblem, of_fista_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Layout layout = Layout::scatter(comm, {40});
      const auto s = identity<double>(layout);
      const auto make = [&](const IstaOptions<double>& own, int operator_seed = 1) {
        return std::make_unique<Fista<double, double>>(
            positive_operator<double>(layout, operator_seed), make_array<double>(layout, 3),
            up_to(9, path), own);
      };
      const IstaOptions<double> given{.eps = 5, .sparsifier = s, .decay = {3, 2}};
      make(given)->run();
      comm.barrier();
      const auto refused = [&](const std::string& reason, const auto& change) {
        IstaOptions<double> other = given;
        change(other);
        expect_refused(path, reason, [&] { make(other); });
      };
      refused("eps was 5 in the checkpoint and is 4 now", [](auto& other) { other.eps = 4; });
      refused("threshold", [](auto& other) { other.threshold = Threshold::half; });
      refused("decay", [](auto& other) { other.decay = {3, 1}; });
      refused("decay", [](auto& other) { other.decay = {3}; });
      refused("step", [](auto& other) { other.step = 0.01; });
      refused("backtracking", [](auto& other) { other.backtracking = true; });
      refused("restart", [](auto& other) { other.restart = false; });
      refused("S times the gradient", [&](auto& other) { other.sparsifier = -s; });
      refused("S times the gradient", [](auto& other) { other.sparsifier.reset(); });
      // The initial x = 0 does not depend on the operator.
      expect_refused(path, "the gradient", [&] { make(given, 7); });
      expect_refused(path, "its solver is fista, and this one is ista", [&] {
        Ista<double, double>(positive_operator<double>(layout), make_array<double>(layout, 3),
                             up_to(9, path), given);
      });
      EXPECT_EQ(make(given)->iteration(), 9);
    });
  });
}

TEST(OtherProblem, of_total_variation_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Layout layout = Layout::scatter(comm, {8, 7});
      const auto make = [&](const TotalVariationOptions<double>& own, int operator_seed = 1) {
        return std::make_unique<TotalVariation<double, double>>(
            positive_operator<double>(layout, operator_seed), make_array<double>(layout, 3),
            up_to(9, path), own);
      };
      make({})->run();
      comm.barrier();
      const auto refused = [&](const std::string& reason, const auto& change) {
        TotalVariationOptions<double> other;
        change(other);
        expect_refused(path, reason, [&] { make(other); });
      };
      refused("mu was 1 in the checkpoint and is 2 now", [](auto& other) { other.mu = 2; });
      refused("rho was 1 in the checkpoint and is 3 now", [](auto& other) { other.rho = 3; });
      refused("inner_iterations", [](auto& other) { other.inner_iterations = 4; });
      refused("components of gradients",
              [](auto& other) { other.norm = TotalVariationNorm::anisotropic; });
      refused("G p", [](auto& other) { other.gradient.sampling = {1, 2}; });
      expect_refused(path, "G p", [&] { make({}, 7); });
      EXPECT_EQ(make({})->iteration(), 9);
    });
  });
}

TEST(OtherProblem, that_is_invalid_does_not_change_the_checkpoint) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Setting setting;
      setting.make(comm, up_to(5, path))->run();
      comm.barrier();
      const std::string before = content_of(path);
      const Layout layout = Layout::scatter(comm, {40});
      const auto a = positive_operator<double>(layout);
      const auto y = make_array<double>(layout, 3);
      const DistributedArray<double> other(Layout::scatter(comm, {41}));
      const double nan = std::nan("");
      SolverOptions bad = up_to(9, path);
      bad.relative_tolerance = nan;
      // Even with resume = false.
      SolverOptions anew = up_to(9, path);
      anew.checkpoint->resume = false;
      using Call = std::function<void()>;
      for (const Call& call :
           {Call([&] { cgls(a, other, anew); }), Call([&] { cg(a, other, anew); }),
            Call([&] { cgls(a, y, bad); }), Call([&] { cg(a, y, bad); }),
            Call([&] { cgls(a, y, up_to(0, path)); }),
            Call([&] { lsqr(a, y, anew, {.atol = nan}); }),
            Call([&] { fista(a, y, anew, {.eps = nan}); }),
            Call([&] { total_variation(a, y, anew, {.mu = -1}); })}) {
        expect_error<ArgumentError>(comm, {""}, call);
        EXPECT_TRUE(content_of(path) == before);
        comm.barrier();
        EXPECT_EQ(names_in(folder), std::vector<std::string>{"state"});
      }
    });
  });
}

}  // namespace weft::test
