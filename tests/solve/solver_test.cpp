// The loop that all solvers share.

#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/solve/cg.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/ista.hpp>
#include <weft/solve/lsqr.hpp>
#include <weft/solve/total_variation.hpp>

#include "solve/support/checkpoints.hpp"
#include "solve/support/problems.hpp"
#include "solve/support/variants.hpp"
#include "support/ranks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

namespace weft::test {
namespace {

/// Saves the state of a solver, or restores it.
class StateCopier final : public StateVisitor {
 public:
  explicit StateCopier(std::map<std::string, std::vector<std::byte>>& kept, bool restores)
      : kept_(kept), restores_(restores) {}

  void visit(std::string_view name, const ArrayView<float>& x) override { array(name, x); }
  void visit(std::string_view name, const ArrayView<double>& x) override { array(name, x); }
  void visit(std::string_view name, const ArrayView<std::complex<float>>& x) override {
    array(name, x);
  }
  void visit(std::string_view name, const ArrayView<std::complex<double>>& x) override {
    array(name, x);
  }
  void visit(std::string_view name, BufferRef numbers, index_t) override {
    bytes(name, numbers.data, numbers.bytes(), numbers.where);
  }
  void visit(std::string_view name, index_t& number) override {
    bytes(name, &number, sizeof(number), Device::cpu());
  }

 private:
  template <Scalar T>
  void array(std::string_view name, const ArrayView<T>& x) {
    bytes(name, x.data(), x.local_count() * index_t{sizeof(T)}, x.device());
  }
  void bytes(std::string_view name, void* data, index_t count, Device device) {
    std::vector<std::byte>& copy = kept_[std::string(name)];
    const auto size = static_cast<std::size_t>(count);
    if (restores_) {
      ASSERT_EQ(copy.size(), size) << name;
      copy_bytes(data, device, copy.data(), Device::cpu(), size);
    } else {
      copy.resize(size);
      copy_bytes(copy.data(), Device::cpu(), data, device, size);
    }
  }

  std::map<std::string, std::vector<std::byte>>& kept_;
  bool restores_;
};

/// For a solver on other_device() with a check every 5 iterations.
void expect_blocks_only_in_checks(const Comm& comm, AnySolver& solver) {
  const Route route = comm.route(other_device());
  if (!route.capturable && route.name != "thread") return;
  comm.barrier();
  const index_t before = Stream::host_waits();
  comm.barrier();
  for (int i = 0; i < 4; ++i) solver.step();
  comm.barrier();
  EXPECT_EQ(Stream::host_waits(), before);
  comm.barrier();
  solver.step();
  EXPECT_GT(Stream::host_waits(), before);
}

/// Replaces stderr by a terminal during its lifetime.
class Terminal {
 public:
  Terminal() : screen_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)), stderr_(dup(STDERR_FILENO)) {
    EXPECT_TRUE(grantpt(screen_) == 0 && unlockpt(screen_) == 0);
    const int keyboard = open(ptsname(screen_), O_RDWR | O_NOCTTY);
    dup2(keyboard, STDERR_FILENO);
    close(keyboard);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    dup2(stderr_, STDERR_FILENO);
    close(stderr_);
    close(screen_);
  }

  /// The text written to it so far.
  std::string text() const {
    std::string all;
    char some[256];
    for (ssize_t count = 0; (count = read(screen_, some, sizeof(some))) > 0;) {
      all.append(some, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  int screen_;
  int stderr_;
};

/// A solver with the state of another continues exactly like it.
template <class Make>
void expect_restarts(Make make) {
  auto first = make();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(first->step());
  std::map<std::string, std::vector<std::byte>> kept;
  StateCopier keeps(kept, false);
  first->visit_state(keeps);
  auto second = make();
  StateCopier restores(kept, true);
  second->visit_state(restores);
  EXPECT_EQ(second->iteration(), 5);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(first->step());
    ASSERT_TRUE(second->step());
    EXPECT_EQ(first->x().to_host(), second->x().to_host());
    EXPECT_EQ(first->history().back().residual_norm, second->history().back().residual_norm);
  }
}

}  // namespace

TEST(Solver, steps_until_it_stops) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {12}));
    const auto y = make_array<double>(a.range(), 1);
    Cgls solver(a, y, {.max_iterations = 5});
    EXPECT_EQ(solver.stop_reason(), StopReason::running);
    EXPECT_EQ(solver.iteration(), 0);
    EXPECT_EQ(solver.history().size(), 1U);
    for (int i = 1; i < 5; ++i) {
      EXPECT_TRUE(solver.step());
      EXPECT_EQ(solver.iteration(), i);
    }
    EXPECT_FALSE(solver.step());
    EXPECT_FALSE(solver.step());
    EXPECT_EQ(solver.iteration(), 5);
    EXPECT_EQ(solver.stop_reason(), StopReason::iteration_limit);

    const auto so_far = solver.solution();
    EXPECT_EQ(so_far.x.to_host(), solver.x().to_host());
    EXPECT_EQ(so_far.iterations, 5);
    EXPECT_EQ(so_far.history.size(), 6U);
    EXPECT_GT(so_far.seconds, 0);
    EXPECT_NEAR(so_far.residual_norm, solver.history().back().residual_norm, 1e-9);
    EXPECT_NEAR(so_far.gradient_norm, solver.history().back().gradient_norm, 1e-9);
    expect_contains(so_far.message, "5 iterations");
  });
}

TEST(Solver, solution_does_not_change_the_state) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {12}));
    const auto y = make_array<double>(a.range(), 1);
    const auto expect_unchanged = [](auto& watched, auto& alone) {
      for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(watched.step());
        ASSERT_TRUE(alone.step());
        static_cast<void>(watched.solution());
        EXPECT_EQ(watched.x().to_host(), alone.x().to_host());
      }
    };
    const SolverOptions options{.relative_tolerance = 0};
    Cgls cgls_watched(a, y, options, {.damp = 0.5});
    Cgls cgls_alone(a, y, options, {.damp = 0.5});
    expect_unchanged(cgls_watched, cgls_alone);
    const LsqrOptions<double> from_x0{.damp = 0.5, .x0 = make_array<double>(a.domain(), 3)};
    Lsqr lsqr_watched(a, y, options, from_x0);
    Lsqr lsqr_alone(a, y, options, from_x0);
    expect_unchanged(lsqr_watched, lsqr_alone);
    for (const bool single : {false, true}) {
      Cg cg_watched(a, y, options, {.single_reduction = single});
      Cg cg_alone(a, y, options, {.single_reduction = single});
      expect_unchanged(cg_watched, cg_alone);
    }
    for (const bool backtracking : {false, true}) {
      const IstaOptions<double> how{.sparsifier = identity<double>(a.domain()),
                                    .backtracking = backtracking};
      Ista ista_watched(a, y, options, how);
      Ista ista_alone(a, y, options, how);
      expect_unchanged(ista_watched, ista_alone);
      Fista fista_watched(a, y, options, how);
      Fista fista_alone(a, y, options, how);
      expect_unchanged(fista_watched, fista_alone);
    }
    for (const index_t inner : {1, 2, 3}) {
      const TotalVariationOptions<double> how{.mu = 0.5, .inner_iterations = inner};
      TotalVariation variation_watched(a, y, options, how);
      TotalVariation variation_alone(a, y, options, how);
      expect_unchanged(variation_watched, variation_alone);
    }
  });
}

TEST(Solver, checks_every_check_every_iterations) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {30}).on(other_device()));
    const auto y = make_array<double>(a.range(), 1);
    std::vector<index_t> called;
    Cgls solver(a, y,
                {.max_iterations = 10,
                 .relative_tolerance = 0,
                 .check_every = 4,
                 .callback = [&](const SolverStatus& status) {
                   called.push_back(status.iteration);
                   return true;
                 }});
    solver.run();
    EXPECT_EQ(solver.iteration(), 10);
    std::vector<index_t> checked;
    for (const SolverStatus& status : solver.history()) checked.push_back(status.iteration);
    EXPECT_EQ(checked, (std::vector<index_t>{0, 4, 8, 10}));
    EXPECT_EQ(called, (std::vector<index_t>{4, 8, 10}));
    // The number of checks does not change the iterates.
    const auto often = cgls(a, y, {.max_iterations = 10, .relative_tolerance = 0});
    EXPECT_EQ(solver.x().to_host(), often.x.to_host());
  });
}

TEST(Solver, blocks_on_the_device_only_in_checks) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const auto& variant : all_variants<double>()) {
      // With backtracking, the host reads the sums of every trial.
      if (variant.name.find("backtracking") != std::string::npos) continue;
      SCOPED_TRACE(variant.name);
      const auto solver = variant.make(Layout::scatter(comm, {30}).on(other_device()),
                                       {.relative_tolerance = 0, .check_every = 5});
      expect_blocks_only_in_checks(comm, *solver);
    }
  });
}

TEST(Solver, iterates_are_the_same_on_any_number_of_ranks) {
  on_ranks([](Comm comm) {
    const auto expect_same = []<Scalar T>(T, const Variant<T>& variant, const Layout& layout) {
      SCOPED_TRACE(variant.name + " on " + to_string(layout));
      const SolverOptions options{.relative_tolerance = 0};
      const auto alone = variant.make(Layout::local(layout.shape()), options);
      const auto together = variant.make(layout, options);
      const double tolerance = by_precision<T>(1e-11, 1e-3);
      for (int i = 0; i < 12; ++i) {
        ASSERT_TRUE(alone->step()) << alone->message();
        ASSERT_TRUE(together->step()) << together->message();
        expect_near(together->x(), parts_of(whole(alone->x())), tolerance);
        const SolverStatus& seen = together->history().back();
        const SolverStatus& expected = alone->history().back();
        EXPECT_NEAR(seen.residual_norm, expected.residual_norm, tolerance * expected.residual_norm);
        EXPECT_NEAR(seen.gradient_norm, expected.gradient_norm, tolerance * expected.gradient_norm);
      }
    };
    for_each_scalar([&](auto scalar) {
      for (const auto& variant : all_variants<decltype(scalar)>()) {
        expect_same(scalar, variant, Layout::scatter(comm, {9, 8}));
      }
    });
    for (const auto& variant : all_variants<double>()) {
      expect_same(double{}, variant, Layout::bricks(comm, {5, 4, 6}));
      expect_same(double{}, variant, Layout::replicated(comm, {40}));
    }
  });
}

TEST(Solver, a_callback_on_any_rank_stops_all) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {40}));
    const auto y = make_array<double>(a.range(), 1);
    const int last = comm.size() - 1;
    const auto fit = cgls(a, y, {.callback = [&](const SolverStatus& status) {
                            return comm.rank() != last || status.iteration < 6;
                          }});
    EXPECT_EQ(fit.reason, StopReason::stopped_by_callback);
    EXPECT_EQ(fit.iterations, 6);
    expect_contains(fit.message, "iteration 6");
  });
}

TEST(Solver, stops_at_the_time_limit) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {40}));
    const auto y = make_array<double>(a.range(), 1);
    const auto at_once = cgls(a, y, {.time_limit = 0});
    EXPECT_EQ(at_once.reason, StopReason::time_limit);
    EXPECT_EQ(at_once.iterations, 1);
    const auto fit = cgls(a, y, {.time_limit = 0.05, .callback = [](const SolverStatus&) {
                                   std::this_thread::sleep_for(std::chrono::milliseconds(10));
                                   return true;
                                 }});
    EXPECT_EQ(fit.reason, StopReason::time_limit);
    EXPECT_LT(fit.iterations, 20);
    EXPECT_EQ(comm.allreduce(fit.iterations, ReduceOp::max), fit.iterations);
    expect_contains(fit.message, "0.05 s");
  });
}

TEST(Solver, groups_of_ranks_stop_together) {
  on_ranks([](Comm comm) {
    GroupsProblem problem(comm, 1);
    const auto a = diagonal(problem.d);
    const auto fit = cgls(a, problem.y, {.relative_tolerance = 1e-10});
    EXPECT_EQ(fit.reason, StopReason::converged);
    EXPECT_EQ(comm.allreduce(fit.iterations, ReduceOp::max), fit.iterations);
    for (const double value : (a * fit.x).to_host()) EXPECT_NEAR(value, 1, 1e-8);

    if (problem.is_odd) problem.y.fill(std::nan(""));
    const auto bad = cgls(a, problem.y);
    EXPECT_EQ(bad.reason, comm.size() > 1 ? StopReason::not_finite : StopReason::converged);
  });
}

TEST(Solver, prints_progress_lines) {
  std::atomic<bool> has_first = false;  // this process has rank 0
  testing::internal::CaptureStderr();
  on_ranks([&](Comm comm) {
    if (comm.rank() == 0) has_first = true;
    const auto a = slow_operator(Layout::scatter(comm, {9}));
    cgls(a, make_array<double>(a.range(), 1), {.progress = true});
  });
  const std::string text = testing::internal::GetCapturedStderr();
  if (!has_first) {
    EXPECT_EQ(text, "");
    return;
  }
  // The run takes less time than the interval between lines.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find_first_of("\r\033[#"), std::string::npos) << text;
  expect_contains(text, "cgls: 0 of 100 iterations, |r| = ");
  expect_contains(text, "\ncgls: converged in iteration ");
}

TEST(Solver, prints_a_progress_bar_on_a_terminal) {
  std::atomic<bool> has_first = false;
  const Terminal terminal;
  on_ranks([&](Comm comm) {
    if (comm.rank() == 0) has_first = true;
    const auto a = slow_operator(Layout::scatter(comm, {9}));
    const auto slowly = [](const SolverStatus&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      return true;
    };
    cgls(a, make_array<double>(a.range(), 1),
         {.max_iterations = 12, .progress = true, .callback = slowly});
  });
  const std::string text = terminal.text();
  if (!has_first) {
    EXPECT_EQ(text, "");
    return;
  }
  expect_contains(text, "\rcgls: [........................] 0 of 12 iterations, |r| = ");
  expect_contains(text, "/s, at most ");
  expect_contains(text, " s left");
  EXPECT_NE(text.find("[###"), std::string::npos) << text;
  // One line that is updated, and a final one.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  expect_contains(text, "cgls: converged in iteration ");
}

/// The last rate that the progress reports.
double last_rate(const std::string& text) {
  const std::size_t end = text.rfind("/s, at most ");
  if (end == std::string::npos) return 0;
  return std::strtod(text.c_str() + text.rfind(' ', end), nullptr);
}

/// Options for a run with at least 20 ms per iteration that stops after iteration 420.
SolverOptions slowly_to_420() {
  SolverOptions options = up_to(1000);
  options.progress = true;
  options.callback = [](const SolverStatus& status) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return status.iteration < 420;
  };
  return options;
}

TEST(Solver, progress_counts_the_iterations_of_this_run) {
  std::atomic<bool> has_first = false;
  const Setting setting{.rows = 600, .damp = 0};
  const auto expect_rate_of_20_iterations = [&](const auto& start) {
    const Terminal terminal;
    on_ranks([&](Comm comm) {
      if (comm.rank() == 0) has_first = true;
      in_folder(comm, [&](const std::string& folder) {
        const auto solver = start(comm, folder + "/state");
        EXPECT_EQ(solver->iteration(), 400);
        solver->run();
      });
    });
    if (!has_first) return;
    const std::string text = terminal.text();
    EXPECT_GT(last_rate(text), 0) << text;
    EXPECT_LT(last_rate(text), 100) << text;  // at most 50/s when steady, not 420 in 0.4 s
    expect_contains(text, "after 420 iterations, 20 of them in this run, and ");
  };
  expect_rate_of_20_iterations([&](const Comm& comm, const std::string& path) {
    setting.make(comm, up_to(400, path))->run();
    SolverOptions options = slowly_to_420();
    options.checkpoint = {.path = path};
    return setting.make(comm, options);
  });
  expect_rate_of_20_iterations([&](const Comm& comm, const std::string&) {
    const auto first = setting.make(comm, up_to(400));
    first->run();
    std::map<std::string, std::vector<std::byte>> kept;
    StateCopier keeps(kept, false);
    first->visit_state(keeps);
    auto second = setting.make(comm, slowly_to_420());
    StateCopier restores(kept, true);
    second->visit_state(restores);
    return second;
  });
}

TEST(Solver, resumes_exactly_from_a_state) {
  on_ranks([](Comm comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      const auto a = slow_operator(Layout::scatter(comm, {30}).on(device));
      const auto y = make_array<double>(a.range(), 1);
      const SolverOptions options{.relative_tolerance = 0};
      for (const bool backtracking : {false, true}) {
        const IstaOptions<double> how{.backtracking = backtracking, .decay = {4, 3, 2, 1, 3, 2}};
        expect_restarts([&] { return std::make_unique<Ista<double, double>>(a, y, options, how); });
        expect_restarts(
            [&] { return std::make_unique<Fista<double, double>>(a, y, options, how); });
      }
      for (const index_t inner : {2, 3}) {
        const TotalVariationOptions<double> how{.mu = 0.5, .inner_iterations = inner};
        expect_restarts(
            [&] { return std::make_unique<TotalVariation<double, double>>(a, y, options, how); });
      }
      for (const bool started : {false, true}) {
        LsqrOptions<double> lsqr_options{.damp = 0.3, .variance = true};
        if (started) lsqr_options.x0 = make_array<double>(a.domain(), 3);
        expect_restarts(
            [&] { return std::make_unique<Lsqr<double, double>>(a, y, options, lsqr_options); });
      }
      for (const bool preconditioned : {false, true}) {
        std::optional<LinearOperator<double>> by;
        if (preconditioned) by = slow_operator(a.domain());
        for (const double damp : {0.0, 0.3}) {
          expect_restarts([&] {
            return std::make_unique<Cgls<double, double>>(
                a, y, options, CglsOptions<double>{.damp = damp, .preconditioner = by});
          });
        }
        for (const bool single : {false, true}) {
          expect_restarts([&] {
            return std::make_unique<Cg<double>>(
                a, y, options, CgOptions<double>{.preconditioner = by, .single_reduction = single});
          });
        }
      }
    }
  });
}

TEST(Solver, rejects_invalid_options) {
  on_ranks([](Comm comm) {
    const auto a = identity<double>(Layout::scatter(comm, {8}));
    const DistributedArray<double> y(a.range());
    const double nan = std::nan("");
    const auto refused = [&](const std::string& word, const SolverOptions& options) {
      expect_error<ArgumentError>(comm, {"cgls", word}, [&] { cgls(a, y, options); });
      expect_error<ArgumentError>(comm, {"cg", word}, [&] { cg(a, y, options); });
    };
    refused("max_iterations = 0", {.max_iterations = 0});
    refused("max_iterations = -3", {.max_iterations = -3});
    refused("check_every = 0", {.check_every = 0});
    refused("relative_tolerance = -0.1", {.relative_tolerance = -0.1});
    refused("relative_tolerance = nan", {.relative_tolerance = nan});
    refused("absolute_tolerance = -1", {.absolute_tolerance = -1});
    refused("absolute_tolerance = nan", {.absolute_tolerance = nan});
    refused("time_limit = -2", {.time_limit = -2});
    refused("time_limit = nan", {.time_limit = nan});
  });
}

TEST(Solver, tolerances_are_on_norms) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {40}));
    const auto y = make_array<double>(a.range(), 1);
    const auto relative = cg(a, y, {.relative_tolerance = 1e-3});
    const double start = relative.history.front().residual_norm;
    const auto& history = relative.history;
    EXPECT_LE(history.back().residual_norm, 1e-3 * start);
    EXPECT_GT(history[history.size() - 2].residual_norm, 1e-3 * start);
    const auto absolute = cg(a, y, {.relative_tolerance = 0, .absolute_tolerance = 1e-3 * start});
    EXPECT_EQ(absolute.iterations, relative.iterations);
  });
}

TEST(Solver, reasons_have_names) {
  EXPECT_EQ(to_string(StopReason::running), "running");
  EXPECT_EQ(to_string(StopReason::converged), "converged");
  EXPECT_EQ(to_string(StopReason::iteration_limit), "iteration limit");
  EXPECT_EQ(to_string(StopReason::time_limit), "time limit");
  EXPECT_EQ(to_string(StopReason::stopped_by_callback), "stopped by callback");
  EXPECT_EQ(to_string(StopReason::condition_limit), "condition limit");
  EXPECT_EQ(to_string(StopReason::breakdown), "breakdown");
  EXPECT_EQ(to_string(StopReason::not_finite), "not finite");
}

}  // namespace weft::test
