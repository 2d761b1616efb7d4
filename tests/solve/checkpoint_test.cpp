#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/solve/cg.hpp>
#include <weft/solve/cgls.hpp>

#include "solve/support/checkpoints.hpp"
#include "solve/support/dense.hpp"
#include "support/ranks.hpp"

#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

namespace weft::test {
namespace {

Variant<double> named(const std::string& name) {
  for (Variant<double>& one : all_variants<double>()) {
    if (one.name == name) return std::move(one);
  }
  throw std::out_of_range(name);
}

template <Scalar T>
void expect_same_bits(const ConstArrayView<T>& a, const ConstArrayView<T>& b) {
  const std::vector<T> one = a.to_host();
  const std::vector<T> other = b.to_host();
  ASSERT_EQ(one.size(), other.size());
  if (!one.empty()) {
    EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(T)), 0);
  }
}

void expect_same_history(const AnySolver& a, const AnySolver& b) {
  ASSERT_EQ(a.history().size(), b.history().size());
  for (std::size_t i = 0; i < a.history().size(); ++i) {
    EXPECT_EQ(a.history()[i].iteration, b.history()[i].iteration);
    EXPECT_EQ(a.history()[i].residual_norm, b.history()[i].residual_norm);
    EXPECT_EQ(a.history()[i].gradient_norm, b.history()[i].gradient_norm);
  }
}

/// Relative to the first norms at least: small norms are differences of large numbers.
void expect_near_history(const AnySolver& a, const AnySolver& b, double tolerance) {
  ASSERT_EQ(a.history().size(), b.history().size());
  const SolverStatus& first = b.history().front();
  for (std::size_t i = 0; i < a.history().size(); ++i) {
    const SolverStatus& seen = a.history()[i];
    const SolverStatus& expected = b.history()[i];
    EXPECT_EQ(seen.iteration, expected.iteration);
    const double residual = std::max(first.residual_norm, expected.residual_norm);
    EXPECT_NEAR(seen.residual_norm, expected.residual_norm, tolerance * residual) << i;
    const double gradient = std::max(first.gradient_norm, expected.gradient_norm);
    EXPECT_NEAR(seen.gradient_norm, expected.gradient_norm, tolerance * gradient) << i;
  }
}

void step_to(index_t iteration, AnySolver& solver) {
  while (solver.iteration() < iteration) ASSERT_TRUE(solver.step()) << solver.message();
}

/// Stops after 9 iterations, and resumes up to 20.
template <Scalar T>
void expect_resumes_bitwise(const Comm& comm, const Variant<T>& variant, const Layout& layout) {
  SCOPED_TRACE(variant.name + " on " + to_string(layout));
  in_folder(comm, [&](const std::string& folder) {
    const std::string path = folder + "/state";
    const auto uninterrupted = variant.make(layout, up_to(100));
    step_to(20, *uninterrupted);
    const auto first = variant.make(layout, up_to(9, path));
    first->run();
    EXPECT_EQ(first->stop_reason(), StopReason::iteration_limit);
    const auto second = variant.make(layout, up_to(100, path));
    EXPECT_EQ(second->iteration(), 9);
    expect_same_bits(first->x(), second->x());
    step_to(20, *second);
    expect_same_bits(uninterrupted->x(), second->x());
    expect_same_history(*uninterrupted, *second);
  });
}

/// Saves in one layout and resumes in another; either may be absent on some ranks.
template <Scalar T>
void expect_resumes_elsewhere(const Comm& comm, const Variant<T>& variant,
                              const std::optional<Layout>& from, const std::optional<Layout>& to) {
  SCOPED_TRACE(variant.name);
  in_folder(comm, [&](const std::string& folder) {
    const std::string path = folder + "/state";
    if (from) variant.make(*from, up_to(7, path))->run();
    comm.barrier();
    if (to) {
      const auto uninterrupted = variant.make(*to, up_to(100));
      step_to(15, *uninterrupted);
      const auto other = variant.make(*to, up_to(100, path));
      EXPECT_EQ(other->iteration(), 7);
      EXPECT_EQ(other->history().size(), 8U);
      step_to(15, *other);
      const double rounding = 1e4 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
      expect_near(other->x(), parts_of(whole(uninterrupted->x())), rounding);
      expect_near_history(*other, *uninterrupted, rounding);
    }
    comm.barrier();
  });
}

}  // namespace

TEST(Checkpoint, resumes_bitwise) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Variant<T>& variant : all_variants<T>())
        expect_resumes_bitwise(comm, variant, Layout::scatter(comm, {70}));
    });
  });
}

TEST(Checkpoint, resumes_on_all_layouts_and_devices) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {9, 7});
    const Layout copies = Layout::replicated(comm, {31});
    const Layout bricks = Layout::bricks(comm, {5, 4, 6});
    const Variant<double> damped = named("cgls, damped");
    const Variant<double> one_sum = named("cg with one reduction, preconditioned");
    for (const Layout& layout :
         {Layout::scatter(comm, {9, 7}, 1), copies, bricks, Layout::on_rank(comm, {50}, 0),
          Layout::stack({rows, copies, bricks}),
          Layout::stack({Layout::stack({copies, rows}), Layout::scatter(comm, {0, 3}), bricks})}) {
      expect_resumes_bitwise(comm, damped, layout.on(other_device()));
      expect_resumes_bitwise(comm, one_sum, layout);
    }
  });
}

TEST(Checkpoint, resumes_on_other_ranks) {
  on_ranks([](Comm comm) {
    for (const int fewer : std::set{1, comm.size() / 2 + 1}) {
      const Comm some = comm.split(comm.rank() < fewer ? 0 : -1);
      std::optional<Layout> few;
      if (some.valid()) few = Layout::scatter(some, {9, 8});
      const Layout all = Layout::scatter(comm, {9, 8});
      for (const auto& variant : all_variants<double>()) {
        expect_resumes_elsewhere<double>(comm, variant, few, all);
        expect_resumes_elsewhere<double>(comm, variant, all, few);
      }
      for (const auto& variant : all_variants<std::complex<float>>())
        expect_resumes_elsewhere<std::complex<float>>(comm, variant, all, few);
    }
  });
}

TEST(Checkpoint, resumes_in_another_layout) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {9, 8});
    const Layout columns = Layout::scatter(comm, {9, 8}, 1);
    const Layout copies = Layout::replicated(comm, {9, 8});
    for (const auto& variant : all_variants<double>()) {
      expect_resumes_elsewhere<double>(comm, variant, rows, columns.on(other_device()));
      expect_resumes_elsewhere<double>(comm, variant, copies, Layout::bricks(comm, {9, 8}));
      if (!variant.takes_stacks) continue;
      expect_resumes_elsewhere<double>(comm, variant, Layout::stack({rows, copies}),
                                       Layout::stack({copies, columns}));
    }
  });
}

TEST(Checkpoint, recomputes_partial_sums_even_if_they_are_equal) {
  // All ranks have the same elements, so their parts of |p|² are equal, like a finished sum.
  on_ranks([](Comm comm) {
    const index_t rows = 4 * comm.size();
    const auto make = [&](const Comm& on, const SolverOptions& options) {
      const Layout layout = Layout::scatter(on, {rows});
      DistributedArray<double> d(layout);
      d.fill([](const Index& at) { return 1.0 + static_cast<double>(at[0] % 4); });
      DistributedArray<double> y(layout);
      y.fill(1.0);
      return std::make_unique<Cgls<double, double>>(diagonal(d), y, options,
                                                    CglsOptions<double>{.damp = 2});
    };
    in_folder(comm, [&](const std::string& folder) {
      make(comm, up_to(2, folder + "/state"))->run();
      comm.barrier();
      const auto uninterrupted = make(Comm::self(), up_to(3));
      uninterrupted->run();
      if (comm.rank() != 0) return;  // the other ranks would write to the same file
      const auto other = make(Comm::self(), up_to(3, folder + "/state"));
      EXPECT_EQ(other->iteration(), 2);
      other->run();
      expect_near(other->x(), whole(uninterrupted->x()), 1e-13);
    });
  });
}

TEST(Checkpoint, restores_variances_and_objectives_on_other_ranks) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const auto lsqr_on = [](const Comm& on, const SolverOptions& options) {
        const Layout layout = Layout::scatter(on, {60});
        return std::make_unique<Lsqr<double, double>>(positive_operator<double>(layout),
                                                      make_array<double>(layout, 3), options,
                                                      LsqrOptions<double>{.variance = true});
      };
      const auto fista_on = [](const Comm& on, const SolverOptions& options) {
        const Layout layout = Layout::scatter(on, {60});
        return std::make_unique<Fista<double, double>>(positive_operator<double>(layout),
                                                       make_array<double>(layout, 3), options,
                                                       IstaOptions<double>{.eps = 5});
      };
      lsqr_on(comm, up_to(7, path + "1"))->run();
      fista_on(comm, up_to(7, path + "2"))->run();
      comm.barrier();
      if (comm.rank() != 0) return;  // the other ranks would write to the same files
      const auto uninterrupted = lsqr_on(Comm::self(), up_to(12));
      uninterrupted->run();
      const auto resumed = lsqr_on(Comm::self(), up_to(12, path + "1"));
      resumed->run();
      expect_near(resumed->variance(), uninterrupted->variance().to_host(), 1e-12);
      EXPECT_NEAR(resumed->estimates().condition, uninterrupted->estimates().condition, 1e-10);

      const auto objectives = fista_on(Comm::self(), up_to(12));
      objectives->run();
      const auto rest = fista_on(Comm::self(), up_to(12, path + "2"));
      rest->run();
      ASSERT_EQ(rest->objective().size(), 13U);
      for (std::size_t i = 0; i < 13; ++i) {
        const double expected = objectives->objective()[i];
        if (i < 7) {
          EXPECT_TRUE(std::isnan(rest->objective()[i]));  // not stored in checkpoints
        } else {
          EXPECT_NEAR(rest->objective()[i], expected, 1e-12 * expected);
        }
      }
    });
  });
}

TEST(Checkpoint, is_saved_when_due) {
  on_ranks([](Comm comm) {
    const Setting setting;
    /// The iteration of the last checkpoint after some steps; 0 if there is none.
    const auto last = [&](int steps, index_t check_every, const CheckpointOptions& when) {
      index_t found = 0;
      in_folder(comm, [&](const std::string& folder) {
        SolverOptions options = up_to(100);
        options.check_every = check_every;
        options.checkpoint = when;
        options.checkpoint->path = folder + "/state";
        {
          const auto solver = setting.make(comm, options);
          for (int i = 0; i < steps; ++i) EXPECT_TRUE(solver->step());
        }
        found = setting.make(comm, options)->iteration();
      });
      return found;
    };
    EXPECT_EQ(last(10, 1, {.path = "", .every_iterations = 1}), 10);
    EXPECT_EQ(last(10, 1, {.path = "", .every_iterations = 4}), 8);
    EXPECT_EQ(last(11, 3, {.path = "", .every_iterations = 4}), 6);
    EXPECT_EQ(last(12, 3, {.path = "", .every_iterations = 4}), 12);
    EXPECT_EQ(last(10, 1, {.path = "", .every_seconds = 1e-9}), 10);
    EXPECT_EQ(last(10, 2, {.path = "", .every_iterations = 7, .every_seconds = 1e-9}), 10);
    EXPECT_EQ(last(10, 1, {.path = "", .every_iterations = 7, .every_seconds = 1e9}), 7);
    EXPECT_EQ(last(10, 1, {.path = "", .every_seconds = 1e9}), 0);
    EXPECT_EQ(last(10, 1, {}), 0);
  });
}

TEST(Checkpoint, is_saved_when_a_solver_stops) {
  on_ranks([](Comm comm) {
    const Setting setting;
    const auto left_by = [&](SolverOptions options, StopReason reason) {
      index_t found = -1;
      in_folder(comm, [&](const std::string& folder) {
        options.checkpoint = CheckpointOptions{.path = folder + "/state"};
        const auto solver = setting.make(comm, options);
        solver->run();
        EXPECT_EQ(solver->stop_reason(), reason);
        const auto next = setting.make(comm, up_to(100, folder + "/state"));
        EXPECT_EQ(next->iteration(), solver->iteration());
        expect_same_bits(next->x(), solver->x());
        expect_same_history(*next, *solver);
        found = next->iteration();
      });
      return found;
    };
    SolverOptions timed = up_to(100);
    timed.time_limit = 0;
    EXPECT_EQ(left_by(timed, StopReason::time_limit), 1);
    SolverOptions called = up_to(100);
    called.callback = [](const SolverStatus& status) { return status.iteration < 6; };
    EXPECT_EQ(left_by(called, StopReason::stopped_by_callback), 6);
    EXPECT_EQ(left_by(up_to(5), StopReason::iteration_limit), 5);
    SolverOptions rough = up_to(100);
    rough.relative_tolerance = 0.1;
    EXPECT_GT(left_by(rough, StopReason::converged), 0);
  });
}

TEST(Checkpoint, of_a_finished_solver_stops_it_at_once) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const Setting setting;
      setting.make(comm, up_to(9, folder + "/state"))->run();
      for (const index_t limit : {9, 4}) {
        const auto again = setting.make(comm, up_to(limit, folder + "/state"));
        EXPECT_EQ(again->stop_reason(), StopReason::iteration_limit);
        EXPECT_EQ(again->iteration(), 9);
        EXPECT_FALSE(again->step());
      }
      SolverOptions content = up_to(100, folder + "/state");
      content.relative_tolerance = 1e3;
      EXPECT_EQ(setting.make(comm, content)->stop_reason(), StopReason::converged);
    });
  });
}

TEST(Checkpoint, is_not_saved_after_a_breakdown) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const Layout layout = Layout::scatter(comm, {12});
      SolverOptions options = up_to(20, folder + "/state");
      options.checkpoint->every_iterations = 1;
      Cg<double> solver(-1.0 * positive_operator<double>(layout), make_array<double>(layout, 2),
                        options);
      solver.run();
      EXPECT_EQ(solver.stop_reason(), StopReason::breakdown);
      EXPECT_FALSE(std::filesystem::exists(folder + "/state"));
    });
  });
}

TEST(Checkpoint, is_replaced_without_resume) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const Setting setting;
      setting.make(comm, up_to(9, folder + "/state"))->run();
      SolverOptions anew = up_to(3, folder + "/state");
      anew.checkpoint->resume = false;
      const Setting other{.damp = 3};
      const auto solver = other.make(comm, anew);
      EXPECT_EQ(solver->iteration(), 0);
      solver->run();
      EXPECT_EQ(other.make(comm, up_to(9, folder + "/state"))->iteration(), 3);
    });
  });
}

TEST(Checkpoint, that_is_damaged_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Setting setting{.rows = 20};
      setting.make(comm, up_to(5, path))->run();
      comm.barrier();
      const std::string good = content_of(path);
      const auto refused = [&](const std::string& reason, const std::string& content) {
        write_on_first(comm, path, content);
        expect_refused(path, reason, [&] { setting.make(comm, up_to(9, path)); });
      };
      for (std::size_t at = 0; at < good.size(); at += 37) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x10);
        refused("", bad);
      }
      std::string last = good;
      last.back() = static_cast<char>(last.back() ^ 1);
      refused("damaged: its checksum is wrong", last);
      std::string swapped = good;
      std::swap_ranges(swapped.end() - 16, swapped.end() - 8, swapped.end() - 8);
      refused("damaged: its checksum is wrong", swapped);
      for (const double part : {0.1, 0.5, 0.99}) {
        const auto size = static_cast<std::size_t>(part * static_cast<double>(good.size()));
        refused("damaged", good.substr(0, size));
      }
      refused("damaged", good.substr(0, good.size() - 1));
      refused("damaged", good.substr(0, 40));
      refused("damaged", good + "x");
      refused("is not a checkpoint", "");
      refused("is not a checkpoint", "some other text");
      std::string newer = good;
      newer[16] = '2';
      refused("has format 2", newer);
      write_on_first(comm, path, good);
      EXPECT_EQ(setting.make(comm, up_to(9, path))->iteration(), 5);
    });
  });
}

TEST(Checkpoint, that_cannot_be_written_throws_on_all_ranks) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const auto solver = Setting{}.make(comm, up_to(5, path));
      comm.barrier();
      if (comm.rank() == 0) {
        std::filesystem::remove(path + ".lock");
        std::filesystem::create_directory(path);
      }
      comm.barrier();
      EXPECT_THROW(solver->run(), AgreedError);
      EXPECT_EQ(solver->iteration(), 5);
      comm.barrier();
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"state"});
    });
  });
}

TEST(Checkpoint, rejects_invalid_options) {
  on_ranks([](Comm comm) {
    const auto make = [&](const CheckpointOptions& checkpoint) {
      SolverOptions options;
      options.checkpoint = checkpoint;
      Setting{}.make(comm, options);
    };
    EXPECT_THROW(make({}), ArgumentError);
    EXPECT_THROW(make({.path = "x", .every_iterations = -1}), ArgumentError);
    EXPECT_THROW(make({.path = "x", .every_seconds = -1}), ArgumentError);
    EXPECT_THROW(make({.path = "x", .every_seconds = std::nan("")}), ArgumentError);
    if (comm.size() == 1) return;
    const Layout groups = Layout::scatter(comm, {12}).within(even_and_odd(comm.size()));
    EXPECT_THROW(
        Cg<double>(identity<double>(groups), DistributedArray<double>(groups), up_to(5, "x")),
        ArgumentError);
  });
}

}  // namespace weft::test
