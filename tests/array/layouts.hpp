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

/// Of one shape, on `comm` but for the first, which is on this rank alone.
std::vector<NamedLayout> layouts(const Comm& comm, const Shape& shape);
/// Stacks of layouts of different shapes, kinds and depths.
std::vector<NamedLayout> stacks(const Comm& comm);
/// The same layouts, and once more on the debug device.
std::vector<NamedLayout> on_devices(std::vector<NamedLayout> all);
/// Of rank 1-D to 8-D, with no element, one, fewer than ranks, and numbers that ranks do not
/// divide.
std::vector<Shape> shapes();

using LayoutTest = std::function<void(const Layout&)>;
void for_each_layout(const std::vector<NamedLayout>& all, const LayoutTest& f);
/// f(layout) for layouts of all kinds of one shape, and for stacks, on both devices.
void for_all_layouts(const Comm& comm, const Shape& shape, const LayoutTest& f);

/// Deals out n elements to the ranks in turn, and leaves out one of them.
std::vector<index_t> dealt(index_t n, int ranks, int without = -1);
/// Each rank but the last gets a third of what is left, rounded down.
std::vector<index_t> thirds(index_t n, int ranks);
std::vector<int> even_and_odd(int ranks);
/// A group of rank 0, and one of all others.
std::vector<int> first_alone(int ranks);
/// P = a b, the smallest a > 1, with a parts along the last axis and b along the first.
Index wide_grid(int ranks, int ndim);
/// More than one group has the array, and each of them divides it among its ranks.
bool is_grouped(const Layout& layout);

/// The point at a place of the row-major order, and back.
Index point_at(const Shape& shape, index_t position);
index_t position_of(const Shape& shape, const Index& point);
index_t elements_of(const Shape& shape);
Box whole(const Shape& shape);
/// f(global point) for the elements of a box, in row-major order.
void for_each_point(const Box& box, const std::function<void(const Index&)>& f);
/// f(layout) for the layouts in a stack that are none themselves, or for this one.
void for_each_leaf_of(const Layout& layout, const LayoutTest& f);

/// From -9 to 9, and so is the imaginary part of a complex number.
template <Scalar T>
T value(index_t position, int seed = 0);
/// All elements of the global array; of a stack, one array after the other.
template <Scalar T>
std::vector<T> global_values(const Layout& layout, int seed = 0);
/// Those that this rank has.
template <Scalar T>
std::vector<T> local_values(const Layout& layout, int seed = 0);
template <Scalar T>
DistributedArray<T> make_array(const Layout& layout, int seed = 0);

/// Bit by bit, but for the sign of zero.
template <Scalar T>
void expect_elements(const ConstArrayView<T>& seen, const std::vector<T>& expected);

}  // namespace weft::test
