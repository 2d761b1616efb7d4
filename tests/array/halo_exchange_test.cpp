#include "array/layouts.hpp"

#include <weft/array/halo_exchange.hpp>
#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

constexpr Boundary boundaries[] = {Boundary::zero, Boundary::periodic, Boundary::reflect,
                                   Boundary::edge};
constexpr Side sides[] = {Side::before, Side::after};

/// The element that numpy.pad puts at a position outside of the array; -1: a zero.
index_t padded_from(index_t position, index_t n, Boundary boundary) {
  std::vector<index_t> period;
  for (index_t i = 0; i < n; ++i) period.push_back(i);
  switch (boundary) {
    case Boundary::zero: return position < 0 || position >= n ? -1 : position;
    case Boundary::edge: return std::min(std::max<index_t>(position, 0), n - 1);
    case Boundary::periodic: break;
    case Boundary::reflect:
      for (index_t i = n - 2; i > 0; --i) period.push_back(i);
      break;
  }
  const auto length = static_cast<index_t>(period.size());
  while (position < 0) position += length;
  return period[static_cast<std::size_t>(position % length)];
}

/// The element at a global point that may be outside of the array, which is made with a seed.
template <class T>
T padded_value(const Shape& shape, Index at, Boundary boundary, int seed) {
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    at[axis] = padded_from(at[axis], shape[axis], boundary);
    if (at[axis] < 0) return T{};
  }
  return value<T>(position_of(shape, at), seed);
}

int axes_outside(const Box& box, const Index& at) {
  int outside = 0;
  for (int axis = 0; axis < at.ndim(); ++axis) {
    if (at[axis] < box.offset[axis] || at[axis] >= box.end(axis)) ++outside;
  }
  return outside;
}

template <class T>
std::vector<T> to_host(const T* data, index_t count, Device device) {
  std::vector<T> values(static_cast<std::size_t>(count));
  copy_bytes(values.data(), Device::cpu(), data, device, values.size() * sizeof(T));
  return values;
}

std::string text_of(const std::vector<AxisPadding>& widths, HaloOptions options) {
  std::string text = fmt::format("boundary {}, {}corners, widths",
                                 static_cast<int>(options.boundary), options.corners ? "" : "no ");
  for (const AxisPadding& width : widths) text += fmt::format(" {}/{}", width.before, width.after);
  return text;
}

/// Compares padded() after the exchange with the padded global array; x is made with the seed.
template <class T>
void expect_padded(const HaloExchange<T>& halo, const ConstArrayView<T>& x, HaloOptions options,
                   int seed = 0) {
  const Box& box = x.layout().box();
  const PaddedPart<T> part = halo.padded(x);
  if (elements_of(box.shape) == 0) {
    EXPECT_EQ(part.data.size(), 0);
    return;
  }
  Box around = box;
  Index extent = box.shape;
  for (int axis = 0; axis < x.layout().ndim(); ++axis) {
    around.offset[axis] -= halo.width(axis).before;
    extent[axis] += halo.width(axis).before + halo.width(axis).after;
  }
  around.shape = Shape(extent);
  EXPECT_EQ(part.box, around);
  ASSERT_EQ(part.data.size(), elements_of(around.shape));
  const std::vector<T> seen = to_host(part.data.data(), part.data.size(), part.data.device());
  std::size_t position = 0;
  for_each_point(around, [&](const Index& at) {
    const bool corner = axes_outside(box, at) > 1;
    const T element = seen[position++];
    if (corner && !options.corners) return;
    const T expected = padded_value<T>(x.shape(), at, options.boundary, seed);
    EXPECT_EQ(element, expected) << "at " << to_string(at) << " around " << to_string(box.offset);
  });
}

template <class T>
double real_product(const std::vector<T>& x, const std::vector<T>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += static_cast<double>(std::real(x[i])) * static_cast<double>(std::real(y[i])) +
           static_cast<double>(std::imag(x[i])) * static_cast<double>(std::imag(y[i]));
  }
  return sum;
}

/// <ghosts(x), g> = <x, adjoint(g)>, summed over all ranks. Replicas count as arrays of their own.
template <class T>
void expect_adjoint(const Comm& comm, HaloExchange<T>& halo, const ConstArrayView<T>& x) {
  halo.run(x);
  double of_ghosts = 0;
  for (int axis = 0; axis < x.layout().ndim(); ++axis) {
    for (const Side side : sides) {
      const index_t count = elements_of(halo.ghost_shape(axis, side));
      std::vector<T> random;
      const int seed = 100 + 10 * comm.rank() + 2 * axis + static_cast<int>(side);
      for (index_t i = 0; i < count; ++i) random.push_back(value<T>(i, seed));
      of_ghosts += real_product(to_host(halo.ghosts(axis, side), count, x.device()), random);
      copy_bytes(halo.ghosts(axis, side), x.device(), random.data(), Device::cpu(),
                 random.size() * sizeof(T));
    }
  }
  DistributedArray<T> y = make_array<T>(x.layout(), 50);
  const double before = real_product(x.to_host(), y.to_host());
  halo.run_adjoint(y);
  const double of_arrays = real_product(x.to_host(), y.to_host()) - before;
  EXPECT_EQ(comm.allreduce(of_ghosts), comm.allreduce(of_arrays));
}

template <class T>
void expect_halo(const Comm& comm, const Layout& layout, const std::vector<AxisPadding>& widths,
                 HaloOptions options) {
  SCOPED_TRACE(text_of(widths, options));
  const auto x = make_array<T>(layout);
  HaloExchange<T> halo(layout, widths, options);
  halo.run(x);
  expect_padded(halo, x, options);
  expect_adjoint(comm, halo, x);
  halo.run(x);  // after the adjoint has overwritten the buffers
  expect_padded(halo, x, options);
}

/// One width for each axis, limited to what the boundary allows.
std::vector<AxisPadding> limited(const Shape& shape, Boundary boundary, AxisPadding even,
                                 AxisPadding odd) {
  std::vector<AxisPadding> widths;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const index_t limit = boundary == Boundary::reflect ? shape[axis] - 1 : shape[axis];
    const AxisPadding width = axis % 2 == 0 ? even : odd;
    widths.push_back({std::min(width.before, limit), std::min(width.after, limit)});
  }
  return widths;
}

std::vector<std::vector<AxisPadding>> width_choices(const Shape& shape, Boundary boundary) {
  return {limited(shape, boundary, {1, 1}, {1, 1}), limited(shape, boundary, {2, 0}, {1, 3}),
          limited(shape, boundary, {100, 100}, {100, 100})};
}

}  // namespace

class HaloExchangeShapes : public testing::TestWithParam<std::vector<index_t>> {};

// Every boundary, with narrow, uneven and maximal widths; with many ranks, parts are thinner than
// the halo.
TEST_P(HaloExchangeShapes, padding_and_its_adjoint) {
  const Shape shape{Index(GetParam())};
  on_ranks([&](Comm comm) {
    for_each_layout(layouts(comm, shape), [&](const Layout& layout) {
      for (const Boundary boundary : boundaries) {
        for (const std::vector<AxisPadding>& widths : width_choices(shape, boundary)) {
          expect_halo<double>(comm, layout, widths, {.boundary = boundary});
        }
      }
    });
  });
}

using Extents = std::vector<index_t>;
INSTANTIATE_TEST_SUITE_P(, HaloExchangeShapes,
                         testing::Values(Extents{1}, Extents{5}, Extents{13}, Extents{1, 6},
                                         Extents{7, 3}, Extents{3, 1, 4}));

TEST(HaloExchange, in_three_dimensions_with_corners_and_without) {
  on_ranks([](Comm comm) {
    const Shape shape = {4, 5, 3};
    for_each_layout(layouts(comm, shape), [&](const Layout& layout) {
      for (const Boundary boundary : boundaries) {
        const auto widths = limited(shape, boundary, {1, 2}, {3, 0});
        expect_halo<double>(comm, layout, widths, {.boundary = boundary});
        expect_halo<double>(comm, layout, widths, {.boundary = boundary, .corners = false});
      }
    });
  });
}

TEST(HaloExchange, in_all_types_and_on_all_devices) {
  on_ranks([](Comm comm) {
    const Shape shape = {6, 5};
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
        const Boundary boundary = boundaries[sizeof(T) / 4 % 4];
        expect_halo<T>(comm, layout, limited(shape, boundary, {2, 1}, {1, 4}),
                       {.boundary = boundary});
        expect_halo<T>(comm, layout, limited(shape, Boundary::zero, {1, 1}, {1, 1}),
                       {.boundary = Boundary::zero, .corners = false});
      });
    });
  });
}

TEST(HaloExchange, of_arrays_without_elements) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{0}, Shape{4, 0, 3}}) {
      for_each_layout(layouts(comm, shape), [&](const Layout& layout) {
        for (const Boundary boundary : boundaries) {
          expect_halo<float>(comm, layout,
                             std::vector<AxisPadding>(static_cast<std::size_t>(shape.ndim())),
                             {.boundary = boundary});
        }
      });
    }
  });
}

TEST(HaloExchange, of_many_dimensions) {
  on_ranks([](Comm comm) {
    const Shape shape = {2, 1, 2, 3, 1, 2, 2, 1};
    for_each_layout(layouts(comm, shape), [&](const Layout& layout) {
      std::vector<AxisPadding> widths(8);
      widths[0] = {1, 1};
      widths[3] = {1, 2};
      widths[7] = {1, 0};
      expect_halo<float>(comm, layout, widths, {.boundary = Boundary::periodic});
    });
  });
}

// If a part is thinner than the halo of its neighbours, the missing cells come from the ranks
// behind it.
TEST(HaloExchange, reaches_beyond_thin_neighbours) {
  on_ranks([](Comm comm) {
    const index_t n = 2 * comm.size();
    for (const index_t width : {2, 3, 5}) {
      if (width > n) continue;
      for (const Boundary boundary : {Boundary::zero, Boundary::periodic, Boundary::edge}) {
        expect_halo<double>(comm, Layout::scatter(comm, {n}), {{width, width}},
                            {.boundary = boundary});
      }
    }
    std::vector<index_t> ones(static_cast<std::size_t>(comm.size()), 1);
    ones.back() = 10;
    const index_t long_n = comm.size() + 9;
    expect_halo<double>(comm, Layout::scatter(comm, {long_n}, 0, ones), {{4, 4}}, {});
  });
}

TEST(HaloExchange, starts_and_finishes) {
  on_ranks([](Comm comm) {
    for (const bool corners : {true, false}) {
      const HaloOptions options = {.boundary = Boundary::periodic, .corners = corners};
      for_each_layout(on_devices(layouts(comm, {6, 5})), [&](const Layout& layout) {
        const auto x = make_array<float>(layout);
        HaloExchange<float> halo(layout, {{1, 2}, {2, 1}}, options);
        for (int repeat = 0; repeat < 3; ++repeat) {
          halo.start(x);
          EXPECT_EQ(x.to_host(), local_values<float>(layout));  // may be read meanwhile
          halo.finish();
          expect_padded(halo, x, options);
        }
      });
    }
  });
}

TEST(HaloExchange, that_an_exception_interrupts_aborts_the_communicator) {
  if (world() != World::thread) GTEST_SKIP() << "a failure ends the MPI job, and the test with it";
  struct AbandonAtEnd {
    ~AbandonAtEnd() { halo.abandon(); }
    HaloExchange<double>& halo;
  };
  for (const bool corners : {true, false}) {
    std::atomic<bool> ready = false;
    std::atomic<int> failed = 0;
    const auto expect_error = [&](const std::function<void()>& call) {
      try {
        call();
      } catch (const CommError&) {
        ++failed;
      }
    };
    run_threads(2, [&](const Comm& comm) {
      const Layout layout = Layout::scatter(comm, {6, 5});
      HaloExchange<double> halo(layout, {{1, 1}, {1, 1}}, {.corners = corners});
      const auto x = make_array<double>(layout);
      if (comm.rank() == 0) {
        ready = true;
        expect_error([&] { comm.barrier(); });
        return;
      }
      while (!ready) std::this_thread::yield();
      try {
        const AbandonAtEnd guard{halo};
        halo.start(x);
        throw std::runtime_error("an error of the program");
      } catch (const std::runtime_error&) {
      }
      // The exchange can be started again, but the communicator has failed.
      for (int repeat = 0; repeat < 2; ++repeat) expect_error([&] { halo.run(x); });
    });
    EXPECT_EQ(failed, 3);
  }
}

TEST(HaloExchange, is_run_again_with_other_arrays) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {6, 5}), [](const Layout& layout) {
      HaloExchange<double> halo(layout, {{1, 1}, {1, 1}}, {});
      auto zeros = DistributedArray<double>(layout);
      auto other = make_array<double>(layout, 7);
      const auto x = make_array<double>(layout);
      halo.run(other);
      halo.run(zeros);
      for (int axis = 0; axis < 2; ++axis) {
        for (const Side side : sides) {
          const index_t count = elements_of(halo.ghost_shape(axis, side));
          EXPECT_EQ(to_host(halo.ghosts(axis, side), count, Device::cpu()),
                    std::vector<double>(static_cast<std::size_t>(count)));
        }
      }
      for (int repeat = 0; repeat < 5; ++repeat) halo.run(x);
      expect_padded(halo, x, {});
      HaloExchange<double> moved = std::move(halo);
      moved.run(other);
      moved.run(x);
      expect_padded(moved, x, {});
    });
  });
}

// Ranks of one process read the planes of some axes directly from the sender's array and pack those
// of others. The sender must pass what the receiver expects in every run, whatever the array.
TEST(HaloExchange, ranks_agree_on_the_axes_that_are_read_directly) {
  on_ranks([](Comm comm) {
    // Parts differ in their extents, so that planes are at different places in array and message.
    std::vector<index_t> extents;
    for (int rank = 0; rank < comm.size(); ++rank) extents.push_back(3 + rank % 3);
    const index_t n = std::accumulate(extents.begin(), extents.end(), index_t{0});
    const std::vector<Layout> layouts = {
        Layout::scatter(comm, {n, 5}, 0, extents), Layout::scatter(comm, {5, n}, 1, extents),
        Layout::bricks(comm, {n + 1, n + 2}, wide_grid(comm.size(), 2))};
    // With zeros as boundary and a halo on one side, the first rank only sends and the last only
    // receives. With corners, axis 1 can be read directly only if axis 0 has no halo.
    const std::vector<std::vector<AxisPadding>> widths = {
        {{1, 0}, {0, 0}}, {{0, 0}, {0, 2}}, {{1, 0}, {2, 0}}, {{1, 2}, {2, 1}}};
    for (const Layout& layout : layouts) {
      for (const Boundary boundary : boundaries) {
        for (const bool corners : {true, false}) {
          for (const std::vector<AxisPadding>& width : widths) {
            const HaloOptions options = {.boundary = boundary, .corners = corners};
            SCOPED_TRACE(to_string(layout) + ", " + text_of(width, options));
            const auto array = make_array<double>(layout, 1);
            std::vector<double> memory = local_values<double>(layout, 2);
            const ConstArrayView<double> view(layout, memory.data(), layout.local_count());
            HaloExchange<double> halo(layout, width, options);
            for (int repeat = 0; repeat < 2; ++repeat) {
              halo.run(array);
              expect_padded<double>(halo, array, options, 1);
              halo.run(view);
              expect_padded(halo, view, options, 2);
              expect_adjoint<double>(comm, halo, array);
            }
          }
        }
      }
    }
  });
}

TEST(HaloExchange, two_exchanges_overlap) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {6, 5}), [](const Layout& layout) {
      const auto x = make_array<double>(layout);
      const auto z = make_array<float>(layout);
      const HaloOptions options = {.boundary = Boundary::edge};
      HaloExchange<double> first(layout, {{1, 2}, {0, 1}}, options);
      HaloExchange<float> second(layout, {{2, 1}, {3, 3}}, options);
      for (int repeat = 0; repeat < 2; ++repeat) {
        first.start(x);
        second.start(z);
        first.finish();
        second.finish();
        expect_padded(first, x, options);
        expect_padded(second, z, options);
        second.start(z);
        first.start(x);
        first.finish();
        second.finish();
        expect_padded(first, x, options);
        expect_padded(second, z, options);
      }
    });
  });
}

TEST(HaloExchange, has_the_documented_ghost_shapes) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {2 * comm.size(), 5});
    const HaloExchange<double> corners(layout, {{1, 2}, {2, 1}}, {});
    EXPECT_EQ(corners.ghost_shape(0, Side::before), (Shape{1, 5}));
    EXPECT_EQ(corners.ghost_shape(0, Side::after), (Shape{2, 5}));
    EXPECT_EQ(corners.ghost_shape(1, Side::before), (Shape{5, 2}));
    EXPECT_EQ(corners.ghost_shape(1, Side::after), (Shape{5, 1}));
    const HaloExchange<double> none(layout, {{1, 2}, {2, 1}}, {.corners = false});
    EXPECT_EQ(none.ghost_shape(1, Side::before), (Shape{2, 2}));
    EXPECT_EQ(none.ghost_shape(1, Side::after), (Shape{2, 1}));
    EXPECT_EQ(none.width(1).before, 2);
    EXPECT_EQ(none.layout(), layout);
  });
}

TEST(HaloExchange, throws_on_all_ranks) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    using Halo = HaloExchange<double>;
    EXPECT_THROW(Halo(layout, {{5, 0}, {0, 0}}), ArgumentError);
    EXPECT_THROW(Halo(layout, {{0, 0}, {0, 6}}), ArgumentError);
    EXPECT_THROW(Halo(layout, {{4, 0}, {0, 0}}, {.boundary = Boundary::reflect}), ArgumentError);
    EXPECT_NO_THROW(Halo(layout, {{3, 3}, {4, 4}}, {.boundary = Boundary::reflect}));
    EXPECT_NO_THROW(Halo(layout, {{4, 4}, {5, 5}}));
    EXPECT_THROW(Halo(layout, {{1, 1}}), ArgumentError);
    EXPECT_THROW(Halo(layout, {{1, 1}, {1, 1}, {1, 1}}), ArgumentError);
    EXPECT_THROW(Halo(layout, {{-1, 0}, {0, 0}}), ArgumentError);
    EXPECT_THROW(Halo(Layout::stack({layout}), {{1, 1}}), ArgumentError);

    // An empty axis has no limit but that of the numbers.
    constexpr index_t huge = std::numeric_limits<index_t>::max();
    const Layout empty = Layout::scatter(comm, {0, 5});
    EXPECT_NO_THROW(Halo(empty, {{3, 2}, {1, 1}}));
    EXPECT_THROW(Halo(empty, {{huge, 1}, {1, 1}}), ArgumentError);
    EXPECT_THROW(Halo(Layout::scatter(comm, {huge}), {{1, 0}}), ArgumentError);

    Halo halo(layout, {{1, 1}, {1, 1}});
    auto x = make_array<double>(layout);
    EXPECT_THROW(halo.finish(), ArgumentError);
    auto other = make_array<double>(Layout::scatter(comm, {5, 4}));
    auto there = make_array<double>(layout.on(other_device()));
    EXPECT_THROW(halo.run(other), ArgumentError);
    EXPECT_THROW(halo.run(there), ArgumentError);
    EXPECT_THROW(halo.run_adjoint(other), ArgumentError);
    EXPECT_THROW(halo.padded(other), ArgumentError);
    halo.start(x);
    EXPECT_THROW(halo.start(x), ArgumentError);
    EXPECT_THROW(halo.run_adjoint(x), ArgumentError);
    halo.finish();
    EXPECT_THROW(halo.finish(), ArgumentError);
    expect_padded(halo, x, {});
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

}  // namespace weft::test
