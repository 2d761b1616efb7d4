// The loop that all solvers share.

#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/op/diagonal.hpp>
#include <weft/op/identity.hpp>
#include <weft/solve/cg.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/ista.hpp>
#include <weft/solve/lsqr.hpp>
#include <weft/solve/total_variation.hpp>

#include "array/layouts.hpp"
#include "op/support/check_operator.hpp"
#include "support/ranks.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <thread>

namespace weft::test {
namespace {

/// Takes as many iterations as there are unknowns.
LinearOperator<double> slow_operator(const Layout& layout) {
  DistributedArray<double> d(layout);
  d.fill([](const Index& at) { return 1.0 + static_cast<double>(at[0]); });
  return diagonal(d);
}

/// Keeps a state, or puts one back.
class Keeper final : public StateVisitor {
 public:
  explicit Keeper(std::map<std::string, std::vector<std::byte>>& kept, bool restores)
      : kept_(kept), restores_(restores) {}

  void visit(std::string_view name, DistributedArray<float>& x) override { array(name, x); }
  void visit(std::string_view name, DistributedArray<double>& x) override { array(name, x); }
  void visit(std::string_view name, DistributedArray<std::complex<float>>& x) override {
    array(name, x);
  }
  void visit(std::string_view name, DistributedArray<std::complex<double>>& x) override {
    array(name, x);
  }
  void visit(std::string_view name, Memory numbers) override {
    bytes(name, numbers.data, numbers.bytes(), numbers.where);
  }
  void visit(std::string_view name, index_t& number) override {
    bytes(name, &number, sizeof(number), Device::cpu());
  }

 private:
  template <Scalar T>
  void array(std::string_view name, DistributedArray<T>& x) {
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

/// A solver that has the state of another goes on exactly like it.
template <class Make>
void expect_restarts(Make make) {
  auto first = make();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(first->step());
  std::map<std::string, std::vector<std::byte>> kept;
  Keeper keeps(kept, false);
  first->visit_state(keeps);
  auto second = make();
  Keeper restores(kept, true);
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
    EXPECT_NE(so_far.message.find("5 iterations"), std::string::npos) << so_far.message;
  });
}

TEST(Solver, a_look_at_the_solution_does_not_disturb_it) {
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {12}));
    const auto y = make_array<double>(a.range(), 1);
    const auto expect_undisturbed = [](auto& watched, auto& alone) {
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
    expect_undisturbed(cgls_watched, cgls_alone);
    const LsqrOptions<double> from_x0{.damp = 0.5, .x0 = make_array<double>(a.domain(), 3)};
    Lsqr lsqr_watched(a, y, options, from_x0);
    Lsqr lsqr_alone(a, y, options, from_x0);
    expect_undisturbed(lsqr_watched, lsqr_alone);
    for (const bool single : {false, true}) {
      Cg cg_watched(a, y, options, {.single_reduction = single});
      Cg cg_alone(a, y, options, {.single_reduction = single});
      expect_undisturbed(cg_watched, cg_alone);
    }
    for (const bool backtracking : {false, true}) {
      const IstaOptions<double> how{.sparsifier = identity<double>(a.domain()),
                                    .backtracking = backtracking};
      Ista ista_watched(a, y, options, how);
      Ista ista_alone(a, y, options, how);
      expect_undisturbed(ista_watched, ista_alone);
      Fista fista_watched(a, y, options, how);
      Fista fista_alone(a, y, options, how);
      expect_undisturbed(fista_watched, fista_alone);
    }
  });
}

TEST(Solver, looks_only_as_often_as_it_should) {
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
    std::vector<index_t> looked;
    for (const SolverStatus& status : solver.history()) looked.push_back(status.iteration);
    EXPECT_EQ(looked, (std::vector<index_t>{0, 4, 8, 10}));
    EXPECT_EQ(called, (std::vector<index_t>{4, 8, 10}));
    // Not looking changes nothing.
    const auto often = cgls(a, y, {.max_iterations = 10, .relative_tolerance = 0});
    EXPECT_EQ(solver.x().to_host(), often.x.to_host());
  });
}

TEST(Solver, waits_for_the_device_only_to_look) {
  on_ranks([](Comm comm) {
    const std::string route = comm.route(other_device()).name;
    if (route != "self" && route != "thread" && route != "nccl") return;
    comm.check_calls(false);
    const auto a = slow_operator(Layout::scatter(comm, {30}).on(other_device()));
    Cgls solver(a, make_array<double>(a.range(), 1), {.relative_tolerance = 0, .check_every = 5},
                {.damp = 0.1});
    comm.barrier();
    const index_t before = Stream::host_waits();
    comm.barrier();
    for (int i = 0; i < 4; ++i) solver.step();
    comm.barrier();
    EXPECT_EQ(Stream::host_waits(), before);
    comm.barrier();
    solver.step();
    EXPECT_GT(Stream::host_waits(), before);
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
    EXPECT_NE(fit.message.find("iteration 6"), std::string::npos) << fit.message;
  });
}

TEST(Solver, stops_in_time) {
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
    EXPECT_NE(fit.message.find("0.05 s"), std::string::npos) << fit.message;
  });
}

TEST(Solver, groups_of_ranks_stop_together) {
  on_ranks([](Comm comm) {
    // Each group has a problem of its own, which takes longer on odd ranks.
    const Layout layout = Layout::scatter(comm, {12}).within(even_and_odd(comm.size()));
    const bool odd = comm.rank() % 2 == 1;
    DistributedArray<double> d(layout);
    d.fill([&](const Index& at) { return odd ? 1.0 + static_cast<double>(at[0]) : 2.0; });
    DistributedArray<double> y(layout);
    y.fill(1.0);
    const auto fit = cgls(diagonal(d), y, {.relative_tolerance = 1e-10});
    EXPECT_EQ(fit.reason, StopReason::converged);
    EXPECT_EQ(comm.allreduce(fit.iterations, ReduceOp::max), fit.iterations);
    const auto product = diagonal(d) * fit.x;
    for (const double value : product.to_host()) EXPECT_NEAR(value, 1, 1e-8);

    if (odd) y.fill(std::nan(""));
    const auto bad = cgls(diagonal(d), y);
    EXPECT_EQ(bad.reason, comm.size() > 1 ? StopReason::not_finite : StopReason::converged);
  });
}

TEST(Solver, shows_its_progress_once) {
  testing::internal::CaptureStderr();
  on_ranks([](Comm comm) {
    const auto a = slow_operator(Layout::scatter(comm, {9}));
    cgls(a, make_array<double>(a.range(), 1), {.progress = true});
  });
  const std::string text = testing::internal::GetCapturedStderr();
  if (world() == World::mpi) return;  // rank 0 may be another process
  EXPECT_NE(text.find("cgls: 0 of 100 iterations, |r| = "), std::string::npos) << text;
  const auto last = text.find("cgls: converged in iteration ");
  ASSERT_NE(last, std::string::npos) << text;
  EXPECT_EQ(text.find("cgls: converged", last + 1), std::string::npos) << text;
}

TEST(Solver, goes_on_from_a_state_exactly) {
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

TEST(Solver, refuses_options_that_make_no_sense) {
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
