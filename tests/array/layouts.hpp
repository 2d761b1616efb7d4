#pragma once

// Layouts of every kind, and arrays whose elements are known from their place in the global array.
// Values are small whole numbers, which all scalars hold exactly, and so do their sums and
// products: results have one right value, bit by bit, which tests find with loops over the whole
// array.

#include <weft/array/distributed_array.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <string>
#include <vector>

namespace weft::test {

template <class F>
void for_each_scalar(F f) {
  f(float{});
  f(double{});
  f(std::complex<float>{});
  f(std::complex<double>{});
}

struct NamedLayout {
  std::string name;
  Layout layout;
};

/// Layouts of all kinds of one shape. The first is on this rank alone, the others on `comm`.
std::vector<NamedLayout> layouts(const Comm& comm, const Shape& shape);
/// Stacks of layouts of different shapes, kinds and depths.
std::vector<NamedLayout> stacks(const Comm& comm);
/// The same layouts, and once more on the debug device.
std::vector<NamedLayout> on_devices(std::vector<NamedLayout> all);
/// Shapes with 1 to 8 axes, with no element, one, fewer than ranks, and extents that are not
/// multiples of the number of ranks.
std::vector<Shape> shapes();

using LayoutTest = std::function<void(const Layout&)>;
void for_each_layout(const std::vector<NamedLayout>& all, const LayoutTest& f);
/// Calls f(layout) for layouts of all kinds of one shape, and for stacks, on both devices.
void for_all_layouts(const Comm& comm, const Shape& shape, const LayoutTest& f);

/// Extents of n elements that ranks get round robin; rank `without` gets none.
std::vector<index_t> dealt(index_t n, int ranks, int without = -1);
/// Extents: each rank but the last gets a third of the rest, rounded down.
std::vector<index_t> thirds(index_t n, int ranks);
std::vector<int> even_and_odd(int ranks);
/// One group of rank 0, and one of all other ranks.
std::vector<int> first_alone(int ranks);
/// A grid of ranks = a b with the smallest a > 1: a parts along the last axis, b along the first.
Index wide_grid(int ranks, int ndim);
/// There are several groups, each of which cuts the array.
bool is_grouped(const Layout& layout);

/// The point at a position in row-major order, and the position of a point.
Index point_at(const Shape& shape, index_t position);
index_t position_of(const Shape& shape, const Index& point);
index_t elements_of(const Shape& shape);
Box whole(const Shape& shape);
/// Calls f(global point) for the elements of a box, in row-major order.
void for_each_point(const Box& box, const std::function<void(const Index&)>& f);
/// Calls f(layout) for the parts of a stack that are not stacks, or for the layout itself.
void for_each_leaf_of(const Layout& layout, const LayoutTest& f);

/// An integer from -9 to 9; of complex numbers, both parts.
template <Scalar T>
T value(index_t position, int seed = 0);
/// All elements of the global array; of a stack, the parts in order.
template <Scalar T>
std::vector<T> global_values(const Layout& layout, int seed = 0);
/// This rank's elements.
template <Scalar T>
std::vector<T> local_values(const Layout& layout, int seed = 0);
template <Scalar T>
DistributedArray<T> make_array(const Layout& layout, int seed = 0);

/// Expects equal elements, bit by bit except for the sign of zero.
template <Scalar T>
void expect_elements(const ConstArrayView<T>& seen, const std::vector<T>& expected);

}  // namespace weft::test
