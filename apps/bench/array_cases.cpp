#include <weft/array/halo_exchange.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/core/error.hpp>

#include "bench/cases.hpp"

namespace weft::bench {
namespace {

/// Calls f with a value of the array element type that `dtype` names.
template <class F>
auto with_scalar(DType dtype, F f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::c64: return f(std::complex<float>{});
    case DType::c128: return f(std::complex<double>{});
    default: refuse("there are no arrays of {}", to_string(dtype));
  }
}

template <class T>
ArrayView<T> view_of(const Layout& layout, BufferRef memory) {
  return ArrayView<T>(layout, static_cast<T*>(memory.data), memory.count);
}

// Rows of the array on each rank; only the first and the last one are sent.
constexpr index_t rows = 2;

template <class T>
Bound bind_halo(const Comm& comm, index_t width, BufferRef in, BufferRef out) {
  struct Work {
    ArrayView<T> x;
    HaloExchange<T> halo;
  };
  const Layout layout = Layout::scatter(comm, {comm.size() * rows, width}).on(in.where);
  const std::vector<AxisPadding> widths = {AxisPadding{1, 1}, AxisPadding{0, 0}};
  const auto work = std::make_shared<Work>(Work{
      view_of<T>(layout, in), HaloExchange<T>(layout, widths, {.boundary = Boundary::periodic})});
  const auto collect = [=] {
    const auto bytes = static_cast<std::size_t>(width) * sizeof(T);
    T* to = static_cast<T*>(out.data);
    copy_bytes(to, out.where, work->halo.ghosts(0, Side::before), out.where, bytes);
    copy_bytes(to + width, out.where, work->halo.ghosts(0, Side::after), out.where, bytes);
  };
  return {[=] { work->halo.run(work->x); }, collect};
}

template <class T>
Bound bind_redistribution(const Shape& shape, const Comm& comm, BufferRef in, BufferRef out) {
  struct Work {
    ArrayView<T> x;
    ArrayView<T> y;
    Redistribution<T> move;
  };
  const Layout from = Layout::scatter(comm, shape, 0).on(in.where);
  const Layout to = Layout::scatter(comm, shape, 1).on(in.where);
  const auto work = std::make_shared<Work>(
      Work{view_of<T>(from, in), view_of<T>(to, out), Redistribution<T>(from, to)});
  return {[=] { work->move.run(work->x, work->y); }, {}};
}

}  // namespace

/// A row from each neighbour, periodic.
Plan plan_halo(const Where& at) {
  const index_t width = elements_of(at, 2);
  const int next = (at.rank + 1) % at.ranks;
  const int previous = (at.rank + at.ranks - 1) % at.ranks;
  Plan plan;
  plan.count = 2 * width;
  plan.bytes = plan.count * size_of(at.dtype);
  plan.in = {{at.rank, 0, rows * width}};
  plan.out = {{previous, (rows - 1) * width, width}, {next, 0, width}};
  plan.bind = [=](const Comm& comm, BufferRef in, BufferRef out) {
    return with_scalar(
        at.dtype, [&](auto example) { return bind_halo<decltype(example)>(comm, width, in, out); });
  };
  return plan;
}

/// A matrix from rows to columns: each pair of ranks exchanges a block of `height` by `width`.
Plan plan_redistribute(const Where& at) {
  const index_t wanted = elements_of(at, at.ranks);
  index_t height = 1;
  while (4 * height * height <= wanted) height *= 2;
  const index_t width = wanted / height;
  Plan plan;
  plan.count = height * width;
  plan.bytes = plan.count * at.ranks * size_of(at.dtype);
  plan.in = {{at.rank, 0, plan.count * at.ranks}};
  for (int source = 0; source < at.ranks; ++source) {
    for (index_t row = 0; row < height; ++row) {
      plan.out.push_back({source, (row * at.ranks + at.rank) * width, width});
    }
  }
  const Shape shape{height * at.ranks, width * at.ranks};
  plan.bind = [=](const Comm& comm, BufferRef in, BufferRef out) {
    return with_scalar(at.dtype, [&](auto example) {
      return bind_redistribution<decltype(example)>(shape, comm, in, out);
    });
  };
  return plan;
}

}  // namespace weft::bench
