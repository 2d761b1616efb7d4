#include "solve/support/problems.hpp"

#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/stencil/first_derivative.hpp>

#include "support/ranks.hpp"

#include <limits>
#include <memory>

namespace weft::test {

LinearOperator<double> diagonal_of(const Layout& layout, const std::function<double(double)>& d) {
  DistributedArray<double> values(layout);
  values.fill([&](const Index& at) { return d(static_cast<double>(at[0])); });
  return diagonal(values);
}

LinearOperator<double> slow_operator(const Layout& layout) {
  return diagonal_of(layout, [](double i) { return 1 + i; });
}

LinearOperator<double> failing_operator(const LinearOperator<double>& like, int good,
                                        FailsIn fails) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto applied = std::make_shared<int>(0);
  return function_operator<double>(
      like.domain(), like.range(),
      [=](const ConstArrayView<double>& x, const ArrayView<double>& y) {
        like.forward(x, y);
        if (++*applied > good && fails == FailsIn::forward) y.fill(nan);
      },
      [=](const ConstArrayView<double>& y, const ArrayView<double>& x) {
        like.adjoint(y, x);
        if (*applied > good && fails == FailsIn::adjoint) x.fill(nan);
      });
}

SmoothLine::SmoothLine(const Comm& comm)
    : a([&] {
        const Layout line = Layout::scatter(comm, {16});
        return vstack({identity<double>(line),
                       3.0 * first_derivative<double>(line, {.kind = DerivativeKind::forward})});
      }()),
      y(a.range()),
      matrix(32, 16),
      data(global_values<double>(a.domain(), 3)) {
  y.part(0).from_host(local_values<double>(a.domain(), 3));
  data.resize(32);
  for (index_t i = 0; i < 16; ++i) {
    matrix(i, i) = 1;
    if (i == 15) continue;
    matrix(16 + i, i) = -3;
    matrix(16 + i, i + 1) = 3;
  }
}

GroupsProblem::GroupsProblem(const Comm& comm, double of_y)
    : is_odd(comm.rank() % 2 == 1),
      layout(Layout::scatter(comm, {12}).within(even_and_odd(comm.size()))),
      d(layout),
      y(layout) {
  d.fill([&](const Index& at) { return is_odd ? 1.0 + static_cast<double>(at[0]) : 2.0; });
  y.fill(of_y);
}

void for_problem_layouts(const Comm& comm,
                         const std::function<void(const Layout&, const Layout&)>& solve) {
  const auto traced = [&](const Layout& domain, const Layout& range) {
    SCOPED_TRACE(to_string(domain) + " to " + to_string(range));
    solve(domain, range);
  };
  const Layout cut = Layout::scatter(comm, {5});
  const Layout copies = Layout::replicated(comm, {2});
  const Layout groups = Layout::scatter(comm, {4}).within(even_and_odd(comm.size()));
  const Layout tall = Layout::scatter(comm, {12});
  const Layout mixed = Layout::stack({copies, cut, groups, Layout::stack({cut, copies})});
  for_operator_layouts<std::complex<float>>(comm, {3, 2}, [&](const Layout& layout) {
    if (layout.comm() == comm) traced(layout, tall.on(layout.device()));
  });
  traced(Layout::stack({copies, cut, copies}), mixed);
  traced(mixed, Layout::stack({mixed, tall}));
  traced(mixed.on(other_device()), Layout::stack({tall, mixed}).on(other_device()));
  traced(Layout::local({3}), Layout::local({7}));
}

void expect_contains(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

index_t calls_per_iteration(const Comm& comm, AnySolver& solver) {
  const index_t seen = calls_of(comm, [&] {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(solver.step());
  });
  EXPECT_EQ(seen % 4, 0);
  return seen / 4;
}

}  // namespace weft::test
