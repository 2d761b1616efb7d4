// Use of moved-from objects throws.

#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/random.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>

#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace weft::test {

TEST(MovedFrom, arrays_throw) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {6, 5})), [&](const Layout& layout) {
      auto x = make_array<double>(layout, 1);
      auto y = std::move(x);
      const DistributedArray<double>& gone = x;
      const auto refused = [&](const std::function<void()>& call) {
        expect_error(comm, {"the array has been moved from"}, call);
      };
      refused([&] { gone.layout(); });
      refused([&] { gone.comm(); });
      refused([&] { gone.device(); });
      refused([&] { gone.shape(); });
      refused([&] { gone.local_shape(); });
      refused([&] { gone.offset(); });
      refused([&] { gone.data(); });
      refused([&] { gone.local(); });
      refused([&] { gone.view(); });
      refused([&] { gone.part(0); });
      refused([&] { gone.to_host(); });
      refused([&] { x.from_host({}); });
      refused([&] { ArrayView<double> view = x; });
      refused([&] { x.fill(1.0); });
      refused([&] { x.fill([](const Index&) { return 1.0; }); });
      refused([&] { gone.zeros_like(); });
      refused([&] { gone.copy(); });
      refused([&] { gone.redistribute(layout); });
      refused([&] { gone.reshape({30}); });
      refused([&] { gone.gather(0); });
      refused([&] { gone.all_gather(); });
      refused([&] { copy(gone, y); });
      refused([&] { copy(y, x); });
      refused([&] { scale(2, x); });
      refused([&] { axpy(2, gone, y); });
      refused([&] { axpby(2, y, 3, x); });
      refused([&] { multiply(gone, y); });
      refused([&] { conjugate(gone, y); });
      refused([&] { conj(gone); });
      refused([&] { abs(gone); });
      refused([&] { real(gone); });
      refused([&] { imag(gone); });
      refused([&] { astype<float>(gone); });
      refused([&] { gone + y; });
      refused([&] { -gone; });
      refused([&] { dot(gone, y); });
      refused([&] { dot(gone, gone); });
      refused([&] { axpy_dot(1, y, x, y); });
      refused([&] { sum(gone); });
      refused([&] { min(gone); });
      refused([&] { max(gone); });
      refused([&] { norm(gone); });
      refused([&] { norm_along(gone, 0); });
      refused([&] { verify_replicas(gone); });
      refused([&] { fill_random(x, 1); });
      refused([&] { with_ghost_cells(gone, {{1, 1}, {1, 1}}); });
      expect_error(comm, {"layout has been moved from"}, [&] {
        Layout from = layout;
        const Layout to = std::move(from);
        to_string(from);  // NOLINT(bugprone-use-after-move)
      });
      // A moved-from array can be assigned to.
      x = y;
      expect_elements(x, local_values<double>(layout, 1));
    });
  });
}

TEST(MovedFrom, assignment_leaves_nothing_behind) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    auto x = make_array<double>(layout, 1);
    auto y = make_array<double>(Layout::replicated(comm, {4}), 2);
    y = std::move(x);
    expect_elements(y, local_values<double>(layout, 1));
    // NOLINTBEGIN(bugprone-use-after-move)
    EXPECT_EQ(x.local_count(), 0);
    expect_error(comm, {"the array has been moved from"}, [&] { x.layout(); });
    expect_error(comm, {"the array has been moved from"}, [&] { x.data(); });
    // NOLINTEND(bugprone-use-after-move)
    auto& same = y;
    y = std::move(same);
    expect_elements(y, local_values<double>(layout, 1));
  });
}

TEST(MovedFrom, plans_throw) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {6, 5});
    auto x = make_array<double>(layout);
    HaloExchange<double> halo(layout, {{1, 1}, {0, 0}});
    const HaloExchange<double> other_halo = std::move(halo);
    Redistribution<double> plan(layout, layout);
    const Redistribution<double> other_plan = std::move(plan);
    // NOLINTBEGIN(bugprone-use-after-move)
    expect_error(comm, {"HaloExchange has been moved from"}, [&] { halo.run(x); });
    expect_error(comm, {"HaloExchange has been moved from"}, [&] { halo.layout(); });
    expect_error(comm, {"Redistribution has been moved from"}, [&] { plan.run(x, x); });
    expect_error(comm, {"Redistribution has been moved from"}, [&] { plan.needs_messages(); });
    // NOLINTEND(bugprone-use-after-move)
  });
}

}  // namespace weft::test
