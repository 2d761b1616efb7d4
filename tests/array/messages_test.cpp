// Messages, counted by the communicator, and allocations, counted by the memory pool and by the
// operator new of the tests.

#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/stream.hpp>

#include "support/allocations.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace weft::test {
namespace {

struct Calls {
  index_t allreduce = 0;
  index_t all_to_all = 0;
  index_t send = 0;
  index_t all = 0;
};

Calls calls_of(const Comm& comm, const std::function<void()>& f) {
  comm.reset_stats();
  f();
  const Stats& stats = comm.stats();
  return {stats[CallKind::allreduce].calls, stats[CallKind::all_to_all].calls,
          stats[CallKind::send].calls, stats.total().calls};
}

/// The number of sends of an exchange on this rank; expects as many receives.
index_t sends_of(const HaloExchange<double>& made, const std::function<void()>& f) {
  const Comm& comm = made.layout().comm();
  const Calls calls = calls_of(comm, f);
  EXPECT_EQ(calls.all, calls.send + comm.stats()[CallKind::recv].calls);
  return calls.send;
}

std::vector<AxisPadding> widths_of_one(int ndim) {
  return std::vector<AxisPadding>(static_cast<std::size_t>(ndim), AxisPadding{1, 1});
}

}  // namespace

TEST(Messages, elementwise_operations_send_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for_all_layouts(comm, {8, 5, 4}, [&](const Layout& layout) {
      using T = std::complex<double>;
      auto x = make_array<T>(layout, 1);
      auto y = make_array<T>(layout, 2);
      const Calls calls = calls_of(layout.comm(), [&] {
        auto z = x + y;
        z = x - y;
        z = x * y;
        z = T{2} * x;
        z = -x;
        z = x.copy();
        z = x.zeros_like();
        z += x;
        z *= 3.0;
        axpy(2.0, x, y);
        axpby(2.0, x, 3.0, y);
        multiply(x, y);
        copy(x, y);
        y.fill(T{1});
        conjugate(x, y);
        conj(x);
        real(x);
        imag(x);
        abs(x);
        astype<std::complex<float>>(x);
        z.from_host(x.to_host());
        EXPECT_TRUE(x.layout() == z.layout());
        if (layout.is_stack()) return;
        z.fill([](const Index& at) { return static_cast<double>(at[0]); });
        DistributedArray<T>::from_global(layout, global_values<T>(layout));
        if (layout.is_replicated()) x.reshape({5, 32}).all_gather();
      });
      EXPECT_EQ(calls.all, 0);
    });
  });
}

TEST(Messages, reductions_are_one_call) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const Layout& layout : {Layout::scatter(comm, {9, 4}), Layout::bricks(comm, {9, 4})}) {
      auto x = make_array<float>(layout, 1);
      auto y = make_array<float>(layout, 2);
      const index_t one = comm.size() > 1 ? 1 : 0;
      for (const std::function<void()>& call : std::vector<std::function<void()>>{
               [&] { dot(x, y); }, [&] { norm(x); }, [&] { norm(x, 1); }, [&] { sum(x); },
               [&] { max(x); }, [&] { axpy_dot(1, x, y, y); }}) {
        const Calls calls = calls_of(comm, call);
        EXPECT_EQ(calls.allreduce, one);
        EXPECT_EQ(calls.all, one);
      }
    }
  });
}

// The number of sends of a rank does not grow with the number of ranks.
TEST(Messages, halos_are_two_sends_for_a_cut_axis) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const int ranks = comm.size();
    const int me = comm.rank();
    for (const int axis : {0, 1, 2}) {
      const Layout layout = Layout::scatter(comm, Shape{3, 4, 5}.with(axis, 3 * ranks), axis);
      const auto x = make_array<double>(layout);
      for (const bool corners : {true, false}) {
        HaloExchange<double> open(layout, widths_of_one(3), {.corners = corners});
        HaloExchange<double> ring(layout, widths_of_one(3), {Boundary::periodic, corners});
        const index_t neighbours = (me > 0 ? 1 : 0) + (me + 1 < ranks ? 1 : 0);
        EXPECT_EQ(sends_of(open, [&] { open.run(x); }), neighbours);
        EXPECT_EQ(sends_of(ring, [&] { ring.run(x); }), std::min(ranks - 1, 2));
        auto y = make_array<double>(layout);
        EXPECT_EQ(sends_of(open, [&] { open.run_adjoint(y); }), neighbours);
        EXPECT_EQ(sends_of(ring, [&] { ring.run_adjoint(y); }), std::min(ranks - 1, 2));
      }
    }
  });
}

TEST(Messages, halos_of_bricks_are_two_sends_for_each_cut_axis) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout layout =
        Layout::bricks(comm, {2 * comm.size(), 2 * comm.size()}, wide_grid(comm.size(), 2));
    index_t most = 0;
    for (int axis = 0; axis < 2; ++axis) most += layout.is_cut(axis) ? 2 : 0;
    const auto x = make_array<double>(layout);
    HaloExchange<double> corners(layout, widths_of_one(2), {.boundary = Boundary::periodic});
    HaloExchange<double> none(layout, widths_of_one(2), {Boundary::periodic, false});
    EXPECT_LE(sends_of(corners, [&] { corners.run(x); }), most);
    EXPECT_EQ(sends_of(none, [&] { none.run(x); }), sends_of(corners, [&] { corners.run(x); }));
  });
}

TEST(Messages, halos_within_a_rank_send_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto none = [&](const Layout& layout, const std::vector<AxisPadding>& widths) {
      const auto x = make_array<double>(layout);
      for (const Boundary boundary : {Boundary::zero, Boundary::periodic, Boundary::edge}) {
        HaloExchange<double> halo(layout, widths, {.boundary = boundary});
        EXPECT_EQ(calls_of(layout.comm(), [&] { halo.run(x); }).all, 0);
      }
    };
    none(Layout::scatter(comm, {2 * comm.size(), 5}), {{0, 0}, {2, 2}});
    none(Layout::scatter(comm, {2 * comm.size(), 5}), {{0, 0}, {0, 0}});
    none(Layout::scatter(comm, {5, 2 * comm.size()}, 1), {{2, 2}, {0, 0}});
    none(Layout::replicated(comm, {6, 5}), {{2, 2}, {2, 2}});
    none(Layout::on_rank(comm, {6, 5}, comm.size() - 1), {{2, 2}, {2, 2}});
    none(Layout::local({6, 5}), {{2, 2}, {2, 2}});
  });
}

TEST(Messages, halo_messages_are_as_large_as_the_halo) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    if (comm.size() == 1) return;
    const Layout layout = Layout::scatter(comm, {4 * comm.size(), 6});
    const auto x = make_array<double>(layout);
    HaloExchange<double> halo(layout, {{1, 2}, {0, 0}}, {.boundary = Boundary::periodic});
    comm.reset_stats();
    halo.run(x);
    EXPECT_EQ(comm.stats().total().bytes, 3 * 6 * 8);
  });
}

TEST(Messages, on_a_device_do_not_block_the_host) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {64, 30}).on(other_device());
    if (comm.route(other_device()).name == "staged") {
      GTEST_SKIP() << "staged messages block the host";
    }
    auto x = make_array<double>(layout, 1);
    auto y = make_array<double>(layout, 2);
    HaloExchange<double> rows(layout, {{2, 1}, {0, 0}});
    HaloExchange<double> both(layout, widths_of_one(2), {.boundary = Boundary::periodic});
    comm.barrier();
    const index_t before = Stream::host_waits();
    comm.barrier();
    for (int step = 0; step < 100; ++step) {
      axpy(0.5, x, y);
      rows.run(x);
      both.run(y);
      both.run_adjoint(y);
    }
    comm.barrier();
    EXPECT_EQ(Stream::host_waits(), before);
    comm.barrier();
  });
}

TEST(Messages, nothing_is_allocated_in_a_loop) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {40, 30});
    const Layout columns = Layout::scatter(comm, {40, 30}, 1);
    auto x = make_array<double>(rows, 1);
    auto y = make_array<double>(rows, 2);
    auto z = make_array<double>(columns);
    HaloExchange<double> halo(rows, widths_of_one(2), {.boundary = Boundary::reflect});
    Redistribution<double> to_columns(rows, columns);
    Redistribution<double> to_rows(columns, rows);
    expect_no_allocation(comm, [&] { axpy(0.5, x, y); });
    expect_no_allocation(comm, [&] { axpby(0.5, x, 0.5, y); });
    expect_no_allocation(comm, [&] { y = x; });
    expect_no_allocation(comm, [&] { dot(x, y); });
    expect_no_allocation(comm, [&] { norm(x); });
    expect_no_allocation(comm, [&] { norm(x, -1); });
    expect_no_allocation(comm, [&] { max(x); });
    expect_no_allocation(comm, [&] { axpy_dot(0.5, x, y, y); });
    expect_no_allocation(comm, [&] { halo.run(x); });
    expect_no_allocation(comm, [&] { halo.run_adjoint(y); });
    expect_no_allocation(comm, [&] { to_columns.run(x, z); });
    expect_no_allocation(comm, [&] {
      halo.run(x);
      axpy(0.5, x, y);
      dot(x, y);
      norm(y);
      axpy_dot(-0.5, x, y, x);
      to_columns.run(x, z);
      to_rows.run(z, x);
    });
  });
}

TEST(Messages, nothing_is_allocated_in_a_loop_with_bricks_and_stacks) {
  on_ranks([](Comm comm) {
    const Layout bricks = Layout::bricks(comm, {12, 10, 8}, wide_grid(comm.size(), 3));
    const Layout replicated = Layout::replicated(comm, {12, 10, 8});
    const Layout stack = Layout::stack({bricks, replicated, bricks});
    const auto x = make_array<std::complex<float>>(bricks, 1);
    const auto s = make_array<std::complex<float>>(stack, 1);
    auto t = make_array<std::complex<float>>(stack, 2);
    auto y = make_array<std::complex<float>>(replicated, 2);
    HaloExchange<std::complex<float>> halo(bricks, widths_of_one(3), {.corners = false});
    Redistribution<std::complex<float>> plan(bricks, replicated);
    expect_no_allocation(comm, [&] { dot(s, t); });
    expect_no_allocation(comm, [&] { norm(s); });
    expect_no_allocation(comm, [&] { axpy(0.5F, s, t); });
    expect_no_allocation(comm, [&] {
      halo.start(x);
      halo.finish();
    });
    expect_no_allocation(comm, [&] { plan.run(x, y); });
  });
}

}  // namespace weft::test
