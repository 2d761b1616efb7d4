// Messages and allocations of operators. The communicator counts messages; the memory pool and a
// replaced operator new count allocations.

#include <weft/array/arithmetic.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/algebra/kronecker.hpp>
#include <weft/op/algebra/memoize.hpp>
#include <weft/op/basic/cast.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/flip.hpp>
#include <weft/op/basic/halo.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/pad.hpp>
#include <weft/op/basic/redistribute.hpp>
#include <weft/op/basic/regression.hpp>
#include <weft/op/basic/relabel.hpp>
#include <weft/op/basic/reshape.hpp>
#include <weft/op/basic/restriction.hpp>
#include <weft/op/basic/roll.hpp>
#include <weft/op/basic/sum_along.hpp>
#include <weft/op/basic/symmetrize.hpp>
#include <weft/op/basic/to_device.hpp>
#include <weft/op/basic/transpose_axes.hpp>
#include <weft/op/basic/zero.hpp>
#include <weft/op/convolution/convolve_nd.hpp>
#include <weft/op/convolution/downsample.hpp>
#include <weft/op/convolution/gaussian_filter.hpp>
#include <weft/op/convolution/non_stationary_convolve_nd.hpp>
#include <weft/op/convolution/non_stationary_filters.hpp>
#include <weft/op/convolution/smoothing.hpp>
#include <weft/op/curves/spread.hpp>
#include <weft/op/integral/causal_integration.hpp>
#include <weft/op/interpolation/bilinear.hpp>
#include <weft/op/interpolation/interp.hpp>
#include <weft/op/matrix/sparse_matrix.hpp>
#include <weft/op/seismic/poststack_modelling.hpp>
#include <weft/op/seismic/prestack_modelling.hpp>
#include <weft/op/stencil/directional_derivative.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/op/stencil/laplacian.hpp>
#include <weft/op/stencil/second_derivative.hpp>
#include <weft/op/wavelet/dwt.hpp>
#include <weft/op/wavelet/swt.hpp>
#include <weft/op/windows/sliding.hpp>

#include "op/support/check_operator.hpp"
#include "support/allocations.hpp"

namespace weft::test {
namespace {

/// Expects the numbers of communication calls of forward and adjoint, and that cost() reports them.
template <Scalar D, Scalar R>
void expect_calls(const LinearOperator<D, R>& a, index_t forward, index_t adjoint) {
  SCOPED_TRACE(a.describe());
  const Comm& comm = a.domain().comm();
  auto x = make_array<D>(a.domain());
  auto y = make_array<R>(a.range());
  const auto run_forward = [&] { a.forward(x, y, {2, 3}); };
  const auto run_adjoint = [&] { a.adjoint(y, x, {2, 3}); };
  EXPECT_EQ(calls_of(comm, run_forward), forward);
  EXPECT_EQ(calls_of(comm, run_adjoint), adjoint);
  EXPECT_EQ(a.cost().messages, static_cast<double>(forward));
  EXPECT_EQ(a.adjoint_cost().messages, static_cast<double>(adjoint));
}

template <Scalar D, Scalar R>
void expect_allocates_nothing(const Comm& comm, const LinearOperator<D, R>& a) {
  SCOPED_TRACE(a.describe());
  auto x = make_array<D>(a.domain());
  auto y = make_array<R>(a.range());
  expect_no_allocation(comm, [&] {
    a.forward(x, y);
    a.forward(x, y, {0, 1});
    a.adjoint(y, x);
    a.adjoint(y, x, {0, 1});
  });
}

/// f(operator) for one operator of each kind and for some expressions, on one layout.
template <class F>
void for_each_operator(const Layout& layout, F f) {
  using T = std::complex<float>;
  const Comm& comm = layout.comm();
  const int ndim = layout.ndim();
  const auto A = diagonal(make_array<T>(layout));
  const auto S = sum_along<T>(layout, {.axis = 0});
  f(identity<T>(layout));
  f(zero<T>(layout, layout));
  f(A);
  f(restriction<T>(layout, {0, 1, 1}, {.axis = 0}));
  f(pad<T>(layout, std::vector<AxisPadding>(static_cast<std::size_t>(ndim), {1, 2})));
  f(S);
  f(transpose_axes<T>(layout, {1, 0}));
  if (!layout.is_cut_anywhere(1)) {
    const CooMatrix<T> corners{{0, 0, 5}, {0, 29, 29}, {1, 2, 3}};
    f(sparse_matrix(corners, layout, layout));
  }
  if (ndim == 2 && !(layout.is_cut_anywhere(0) && layout.is_cut_anywhere(1))) {
    const auto window = Layout::local({2, 3}).on(layout.device());
    f(patch(layout, identity<T>(window), {.window = {2, 3}, .overlap = {1}}));
  }
  f(real_part<T>(layout));
  f(imag_part<T>(layout));
  f(conjugation<T>(layout));
  f(halo<T>(layout, std::vector<AxisPadding>(static_cast<std::size_t>(ndim), {1, 1})));
  f(first_derivative<T>(layout, {.axis = 0, .edge = true, .order = 5}));
  f(second_derivative<T>(layout, {.axis = 1}));
  f(laplacian<T>(layout));
  f(gradient<T>(layout));
  f(second_directional_derivative<T>(layout, std::vector<double>{1, 2}));
  f(first_directional_derivative<T>(layout, make_array<T>(Layout::stack({layout, layout}))));
  for (const InterpKind kind : {InterpKind::linear, InterpKind::cubic_spline}) {
    f(interp<T>(layout, {4.5, 0.25, 3}, {.axis = 0, .kind = kind}));
  }
  f(bilinear<T>(layout, {{4.5, 0.25}, {0.5, 3}}));
  const std::vector<T> filter = {T{1}, T{0, 2}, T{-1}};
  f(convolve_nd<T>(layout, {3, 1}, filter, {.method = ConvolutionMethod::direct}));
  f(non_stationary_convolve2d<T>(layout, {{1, 3}, {{1}, {1}}, filter}));
  f(non_stationary_filters1d<T>(make_array<T>(layout), 3, {0, 2}, {.axes = {0}}));
  f(gaussian_filter<T>(layout));
  f(downsample<T>(layout));
  f(poststack_modelling<T>(layout, filter));
  f(dwtnd<T>(layout, {.wavelet = "db2", .level = 2}));
  f(swt<T>(layout, {.wavelet = "db2", .axis = 0}));
  for (const int axis : {0, 1}) {
    f(flip<T>(layout, {.axis = axis}));
    f(roll<T>(layout, {.axis = axis, .shift = 2}));
    f(symmetrize<T>(layout, {.axis = axis}));
    f(causal_integration<T>(layout, {.axis = axis, .kind = IntegrationKind::trapezoidal}));
  }
  f(smoothing<T>(layout, {3, 3}));
  f(regression<T>(make_array<float>(layout), {.order = 5}));
  if (!layout.is_cut_anywhere(1)) {
    const Layout model = replicated_like(layout, {2, 3});
    const SpreadFunction position = [](index_t, index_t it0, index_t ix) {
      return 0.5 * static_cast<double>(it0 + ix);
    };
    f(spread<T>(model, layout, position));
    f(spread<T>(model, layout, position, {.on_the_fly = true}));
  }
  f(redistribute<T>(layout, Layout::scatter(comm, layout.shape(), 1).on(layout.device())));
  f(reshape<T>(layout, Layout::scatter(comm, {5, 6}, 1).on(layout.device())));
  f(cast<double, T>(layout));
  f(cast<T>(layout));
  f(to_device<T>(layout, other_device()));
  f(memoize(A, 2));
  f(T{1, 2} * (A * A + pow(A, 3)) - adjoint(A));
  f(transpose(A));
  f(T{0, 1} * conjugation<T>(layout));
  f(vstack({S, S * A}));
  f(hstack({A, A}));
  f(block({{A, zero<T>(layout, layout)}, {A, adjoint(A)}}));
  f((A * A).normal());
}

template <Scalar T>
std::vector<LinearOperator<T>> some_local_operators(Device device) {
  const Layout grid = Layout::local({3, 4}).on(device);
  return {diagonal(make_array<T>(grid)), identity<T>(grid)};
}

}  // namespace

TEST(Messages, local_operators_send_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for_operator_layouts<std::complex<float>>(comm, {6, 5}, [&](const Layout& layout) {
      using T = std::complex<double>;
      const auto A = diagonal(make_array<T>(layout));
      expect_calls(identity<T>(layout), 0, 0);
      expect_calls(zero<T>(layout, layout), 0, 0);
      expect_calls(A, 0, 0);
      expect_calls(restriction<T>(layout, {0, 2, 2}, {.axis = 0}), 0, 0);
      expect_calls(restriction<T>(layout, {0, 2, 2}, {.axis = 1}), 0, 0);
      expect_calls(pad<T>(layout, {{1, 2}, {0, 1}}), 0, 0);
      expect_calls(transpose_axes<T>(layout, {1, 0}), 0, 0);
      expect_calls(real_part<T>(layout), 0, 0);
      expect_calls(conjugation<T>(layout), 0, 0);
      expect_calls(cast<float, T>(layout), 0, 0);
      expect_calls(to_device<T>(layout, Device::cpu()), 0, 0);
      expect_calls(relabel<T>(layout, layout), 0, 0);
      expect_calls(2 * A * A - adjoint(A), 0, 0);
      expect_calls(transpose(A), 0, 0);
      expect_calls(vstack({A, A}), 0, 0);
      expect_calls(block({{A, A}, {A, A}}), 0, 0);
    });
  });
}

TEST(Messages, sum_along_needs_one_allreduce_if_the_axis_is_distributed) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout rows = Layout::scatter(comm, {6, 5});
    expect_calls(sum_along<float>(rows, {.axis = 0}), one, 0);
    expect_calls(sum_along<float>(rows, {.axis = 1}), 0, 0);
    expect_calls(sum_along<float>(Layout::replicated(comm, {6, 5}), {.axis = 0}), 0, 0);
    const Layout bricks = Layout::bricks(comm, {6, 5}, wide_grid(comm.size(), 2));
    const auto S = sum_along<float>(bricks, {.axis = 1});
    const auto x = make_array<float>(bricks);
    auto y = make_array<float>(S.range());
    const Comm line = bricks.line_comm(1);
    if (!line.valid() || line.size() == 1) return;
    EXPECT_EQ(calls_of(line, [&] { S.forward(x, y, {2, 3}); }), 1);
  });
}

TEST(Messages, moves_along_a_distributed_axis_need_one_all_to_all) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 5});
    for (const int axis : {0, 1}) {
      const index_t calls = axis == 0 ? one : 0;
      expect_calls(flip<double>(rows, {.axis = axis}), calls, calls);
      expect_calls(roll<double>(rows, {.axis = axis, .shift = 4}), calls, calls);
      expect_calls(symmetrize<double>(rows, {.axis = axis}), calls, calls);
    }
    expect_calls(flip<double>(Layout::replicated(comm, {6, 5}), {.axis = 0}), 0, 0);
    expect_calls(flip<double>(Layout::on_rank(comm, {6, 5}, 0), {.axis = 0}), 0, 0);
  });
}

TEST(Messages, causal_integration_gathers_the_sums_of_lines_once) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 5});
    expect_calls(causal_integration<float>(rows, {.axis = 0}), one, one);
    expect_calls(causal_integration<float>(rows, {.axis = 1}), 0, 0);
    expect_calls(causal_integration<float>(Layout::replicated(comm, {6, 5}), {.axis = 0}), 0, 0);
  });
}

TEST(Messages, replicated_models_need_one_allreduce_for_the_adjoint) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout rows = Layout::scatter(comm, {3 * comm.size(), 5});
    const Layout copies = Layout::replicated(comm, {6, 5});
    const Layout model = Layout::replicated(comm, {2, 3});
    const auto middle = [](index_t, index_t, index_t) { return 2.5; };
    expect_calls(regression<double>(make_array<double>(rows), {.order = 5}), 0, one);
    expect_calls(regression<double>(make_array<double>(copies)), 0, 0);
    expect_calls(spread<double>(model, rows, middle), 0, one);
    expect_calls(spread<double>(model, copies, middle), 0, 0);
  });
}

TEST(Messages, redistribution_needs_one_call_or_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout rows = Layout::scatter(comm, {8, 8});
    const auto turned = redistribute<double>(rows, Layout::scatter(comm, {8, 8}, 1));
    expect_calls(turned, one, one);
    expect_calls(redistribute<double>(Layout::replicated(comm, {8, 8}), rows), 0, one);
    expect_calls(redistribute<double>(rows, rows), 0, 0);
    expect_calls(transpose_axes<double>(rows, {1, 0}, {.range = rows}), one, one);
  });
}

TEST(Messages, reshape_needs_one_call_or_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const int ranks = comm.size();
    const Layout rows = Layout::scatter(comm, {2 * ranks, 6});
    const Layout columns = Layout::scatter(comm, {3, 4 * ranks}, 1);
    expect_calls(reshape<double>(rows, Layout::scatter(comm, {2 * ranks, 3, 2})), 0, 0);
    expect_calls(reshape<double>(rows, Layout::scatter(comm, {12 * ranks})), 0, 0);
    expect_calls(reshape<double>(rows, columns), one, one);
    expect_calls(reshape<double>(Layout::bricks(comm, {2 * ranks, 6}), columns), one, one);
    expect_calls(reshape<double>(Layout::replicated(comm, {2 * ranks, 6}), columns), 0, one);
    // Parts are cut alike along an axis that is divided.
    expect_calls(reshape<double>(columns, Layout::scatter(comm, {3, 2 * ranks, 2}, 1)), 0, 0);
    expect_calls(relabel<double>(rows, columns), 0, 0);
  });
}

TEST(Messages, memoize_compares_inputs_in_one_call) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout rows = Layout::scatter(comm, {2 * comm.size(), 6});
    const auto A = diagonal(make_array<double>(rows));
    expect_calls(memoize(A), one, one);
    const auto turned = redistribute<double>(rows, Layout::scatter(comm, rows.shape(), 1));
    const auto M = memoize(turned);
    expect_calls(M, 2 * one, 2 * one);
    const auto x = make_array<double>(rows);
    auto y = make_array<double>(M.range());
    EXPECT_EQ(calls_of(comm, [&] { M.forward(x, y); }), one);  // the result is known
  });
}

TEST(Messages, kronecker_over_ranks_exchanges_the_matrix_once) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const auto A = diagonal(make_array<double>(Layout::local({2 * comm.size()})));
    const auto B = diagonal(make_array<double>(Layout::local({3 * comm.size()})));
    expect_calls(kronecker(A, B), 0, 0);
    expect_calls(kronecker(A, B, {.over = comm}), one, one);
  });
}

// Functions whose updates are all plain need no work arrays.
TEST(Messages, function_operators_allocate_when_they_need_to) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout layout = Layout::scatter(comm, {6, 5});
    const auto twice = [](const ConstArrayView<double>& x, const ArrayView<double>& y) {
      axpby(2, x, 0, y);
    };
    const auto x = make_array<double>(layout);
    auto y = make_array<double>(layout);
    comm.barrier();
    const index_t before = memory_stats(Device::cpu()).allocations;
    comm.barrier();
    const auto a = function_operator<double>(layout, layout, twice, twice);
    a.forward(x, y);
    a.adjoint(x, y);
    comm.barrier();
    EXPECT_EQ(memory_stats(Device::cpu()).allocations, before);
    comm.barrier();
    expect_allocates_nothing(comm, a);
  });
}

TEST(Messages, seismic_models_exchange_halos_along_distributed_samples) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Shape shape{5 * comm.size(), 3, 4 * comm.size()};
    const std::vector<double> wavelet = {1, 2, 1};
    for (const int axis : {0, 2}) {
      const Layout layout = Layout::scatter(comm, shape, axis);
      const index_t neighbours =
          (comm.rank() == 0 ? 0 : 1) + (comm.rank() == comm.size() - 1 ? 0 : 1);
      // Those of the derivative and of the convolution.
      const index_t messages = axis == 0 ? 2 * neighbours : 0;
      const auto expect_messages = [&](const LinearOperator<double>& a) {
        const auto x = make_array<double>(a.domain());
        auto y = make_array<double>(a.range());
        EXPECT_EQ(calls_of(comm, [&] { a.forward(x, y); }), 2 * messages);
        EXPECT_EQ(a.cost().messages, static_cast<double>(messages));
      };
      expect_messages(poststack_modelling<double>(layout, wavelet));
      expect_messages(prestack_modelling<double>(layout, wavelet, {10, 20}));
      EXPECT_EQ(avo_modelling<double>(layout, {10, 20}).cost().messages, 0);
    }
  });
}

TEST(Messages, halo_sends_one_message_per_neighbour) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto H = halo<double>(Layout::scatter(comm, {3 * comm.size(), 4}), {{1, 1}, {1, 1}});
    const bool first = comm.rank() == 0;
    const bool last = comm.rank() == comm.size() - 1;
    const index_t neighbours = (first ? 0 : 1) + (last ? 0 : 1);
    const auto x = make_array<double>(H.domain());
    auto y = make_array<double>(H.range());
    const auto run_forward = [&] { H.forward(x, y); };
    EXPECT_EQ(calls_of(comm, run_forward), 2 * neighbours);  // a send and a receive each
    EXPECT_EQ(H.cost().messages, static_cast<double>(neighbours));
  });
}

TEST(Messages, derivatives_exchange_halos_once) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Shape shape{4 * comm.size(), 9, 4 * comm.size()};
    for (const Layout& layout : {Layout::scatter(comm, shape), Layout::scatter(comm, shape, 2),
                                 Layout::bricks(comm, shape, wide_grid(comm.size(), 3)),
                                 Layout::replicated(comm, shape)}) {
      std::vector<AxisPadding> along_first(3);
      along_first[0] = {1, 1};
      HaloExchange<double> along_all(layout, {{1, 1}, {1, 1}, {1, 1}}, {.corners = false});
      HaloExchange<double> along_one(layout, along_first);
      const auto x = make_array<double>(layout);
      const auto expect_one_exchange = [&](const auto& a, HaloExchange<double>& exchange) {
        SCOPED_TRACE(a.describe());
        auto in = make_array<double>(a.domain());
        auto out = make_array<double>(a.range());
        const index_t calls = calls_of(comm, [&] { exchange.run(x); });
        EXPECT_EQ(calls_of(comm, [&] { a.forward(in, out); }), calls);
        EXPECT_EQ(calls_of(comm, [&] { a.adjoint(out, in); }), calls);
        EXPECT_EQ(a.cost().messages, static_cast<double>(exchange.message_count()));
        EXPECT_EQ(a.adjoint_cost().messages, static_cast<double>(exchange.message_count()));
      };
      for (const bool edge : {false, true}) {
        expect_one_exchange(laplacian<double>(layout, {.axes = {0, 1, 2}, .edge = edge}),
                            along_all);
        expect_one_exchange(gradient<double>(layout, {.edge = edge}), along_all);
        expect_one_exchange(
            first_directional_derivative<double>(layout, std::vector<double>{1, 2, 3}), along_all);
        const auto v = make_array<double>(Layout::stack({layout, layout, layout}));
        expect_one_exchange(first_directional_derivative<double>(layout, v), along_all);
        expect_one_exchange(first_derivative<double>(layout, {.axis = 0, .edge = edge, .order = 5}),
                            along_one);
        expect_one_exchange(second_derivative<double>(layout, {.axis = 0, .edge = edge}),
                            along_one);
      }
    }
  });
}

TEST(Messages, interpolation_needs_one_call_for_samples_of_other_ranks) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const index_t one = comm.size() > 1 ? 1 : 0;
    const Layout layout = Layout::scatter(comm, {8, 8});
    const std::vector<double> reversed = {7, 6, 5, 4, 3, 2, 1, 0};
    const std::vector<double> same = {0, 1, 2, 3, 4, 5, 6, 7};
    expect_calls(interp<double>(layout, reversed, {.axis = 0}), one, one);
    expect_calls(interp<double>(layout, same, {.axis = 0}), 0, 0);
    for (const InterpKind kind : {InterpKind::linear, InterpKind::cubic_spline}) {
      expect_calls(interp<double>(layout, reversed, {.axis = 1, .kind = kind}), 0, 0);
    }
    expect_calls(interp<double>(layout, reversed, {.axis = 0, .kind = InterpKind::cubic_spline}),
                 2 * one, 2 * one);
    const std::vector<std::array<double, 2>> points = {{7, 0.5}, {6, 1}, {0, 0}, {0.5, 4}};
    expect_calls(bilinear<double>(layout, points), one, one);
    expect_calls(bilinear<double>(Layout::replicated(comm, {8, 8}), points), 0, 0);
  });
}

TEST(Messages, blocks_over_ranks_reduce_the_model_once) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    using T = float;
    const auto mine = some_local_operators<T>(Device::cpu());
    const index_t one = comm.size() > 1 ? 1 : 0;
    expect_calls(block_diag(comm, mine), 0, 0);
    expect_calls(vstack(comm, mine), 0, one);
    expect_calls(hstack(comm, mine), one, 0);
    const auto A = vstack(comm, mine);
    auto x = make_array<T>(A.domain());
    const auto y = make_array<T>(A.range());
    comm.reset_stats();
    A.adjoint(y, x);
    EXPECT_EQ(comm.stats().total().calls, one);
    EXPECT_EQ(comm.stats()[CallKind::allreduce].calls, one);
    EXPECT_EQ(comm.stats().total().bytes, one * 12 * index_t{sizeof(T)});
  });
}

TEST(Messages, applying_allocates_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);  // before it is split, since comparing calls allocates
    for (const Layout& layout :
         {Layout::scatter(comm, {6, 5}), Layout::bricks(comm, {6, 5}, wide_grid(comm.size(), 2)),
          Layout::replicated(comm, {6, 5})}) {
      for_each_operator(layout, [&](const auto& a) { expect_allocates_nothing(comm, a); });
    }
    const Layout rows = Layout::scatter(comm, {6, 5});
    const auto latest = memoize(diagonal(make_array<double>(rows)), 1);
    const auto first = make_array<double>(rows, 1);
    const auto second = make_array<double>(rows, 2);
    auto y = make_array<double>(rows);
    expect_no_allocation(comm, [&] {
      latest.forward(first, y);
      latest.forward(second, y);
    });
    expect_allocates_nothing(comm,
                             prestack_modelling<double>(Layout::scatter(comm, {6, 3, 2}),
                                                        std::vector<double>{1, 2, 1}, {10, 20}));
    const auto mine = some_local_operators<double>(Device::cpu());
    expect_allocates_nothing(comm, kronecker(mine[0], mine[0], {.over = comm}));
    expect_allocates_nothing(comm, block_diag(comm, mine));
    expect_allocates_nothing(comm, vstack(comm, mine));
    expect_allocates_nothing(comm, hstack(comm, mine));
    const Layout two = Layout::stack({Layout::local({3}), Layout::local({4})});
    const auto parts = std::vector{
        block_diag({identity<double>(Layout::local({3})), identity<double>(Layout::local({4}))})};
    EXPECT_EQ(parts[0].domain(), two);
    expect_allocates_nothing(comm, vstack(comm, parts));
    expect_allocates_nothing(comm, block_diag(comm, parts));
  });
}

}  // namespace weft::test
