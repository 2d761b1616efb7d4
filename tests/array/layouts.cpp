#include "array/layouts.hpp"

#include "support/ranks.hpp"

#include <algorithm>
#include <cstdint>

namespace weft::test {

std::vector<index_t> dealt(index_t n, int ranks, int without) {
  std::vector<index_t> extents(static_cast<std::size_t>(ranks));
  for (index_t dealt_out = 0, rank = 0; dealt_out < n; rank = (rank + 1) % ranks) {
    if (rank == without) continue;
    ++extents[static_cast<std::size_t>(rank)];
    ++dealt_out;
  }
  return extents;
}

std::vector<index_t> thirds(index_t n, int ranks) {
  std::vector<index_t> extents;
  for (int rank = 0; rank + 1 < ranks; ++rank) {
    extents.push_back(n / 3);
    n -= n / 3;
  }
  extents.push_back(n);
  return extents;
}

std::vector<int> even_and_odd(int ranks) {
  std::vector<int> groups;
  for (int rank = 0; rank < ranks; ++rank) groups.push_back(10 - rank % 2);
  return groups;
}

std::vector<int> first_alone(int ranks) {
  std::vector<int> groups(static_cast<std::size_t>(ranks), 5);
  groups[0] = -3;
  return groups;
}

Index wide_grid(int ranks, int ndim) {
  index_t a = 2;
  while (a < ranks && ranks % a != 0) ++a;
  if (ranks == 1) a = 1;
  Index grid = Index::filled(ndim, 1);
  grid[ndim - 1] *= a;
  grid[0] *= ranks / a;
  return grid;
}

std::vector<NamedLayout> layouts(const Comm& comm, const Shape& shape) {
  const int ranks = comm.size();
  std::vector<NamedLayout> all;
  all.push_back({"local", Layout::local(shape)});
  all.push_back({"replicated", Layout::replicated(comm, shape)});
  if (ranks > 1) {
    all.push_back({"replicated within uneven groups", all[1].layout.within(first_alone(ranks))});
  }
  if (shape.ndim() == 0) return all;

  const index_t rows = shape[0];
  const index_t columns = shape[shape.ndim() - 1];
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    all.push_back({"scatter " + std::to_string(axis), Layout::scatter(comm, shape, axis)});
  }
  all.push_back({"scatter -1", Layout::scatter(comm, shape, -1)});
  all.push_back({"thirds", Layout::scatter(comm, shape, 0, thirds(rows, ranks))});
  all.push_back(
      {"thirds of the last axis", Layout::scatter(comm, shape, -1, thirds(columns, ranks))});
  all.push_back({"on the last rank", Layout::on_rank(comm, shape, ranks - 1)});
  all.push_back({"bricks", Layout::bricks(comm, shape)});
  all.push_back({"wide bricks", Layout::bricks(comm, shape, wide_grid(ranks, shape.ndim()))});
  if (ranks == 1) return all;

  for (const int empty : {0, ranks / 2, ranks - 1}) {
    all.push_back({"nothing on rank " + std::to_string(empty),
                   Layout::scatter(comm, shape, 0, dealt(rows, ranks, empty))});
  }
  all.push_back({"scatter within even and odd ranks",
                 Layout::scatter(comm, shape).within(even_and_odd(ranks))});
  all.push_back({"scatter -1 within uneven groups",
                 Layout::scatter(comm, shape, -1).within(first_alone(ranks))});
  all.push_back({"bricks within even and odd ranks",
                 Layout::bricks(comm, shape).within(even_and_odd(ranks))});
  return all;
}

std::vector<NamedLayout> stacks(const Comm& comm) {
  const Layout a = Layout::scatter(comm, {9, 2});
  const Layout b = Layout::bricks(comm, {3, 4, 5});
  const Layout c = Layout::replicated(comm, {6});
  const Layout d = Layout::scatter(comm, {4, 3}, 1).within(even_and_odd(comm.size()));
  const Layout e = Layout::scatter(comm, {2, 0, 3});
  return {{"stack of one", Layout::stack({a})},
          {"stack of cut ones", Layout::stack({a, b, a})},
          {"stack of replicated ones", Layout::stack({c, c})},
          {"stack of all kinds", Layout::stack({c, a, e, d, b})},
          {"stack of stacks", Layout::stack({Layout::stack({a, c}), b, Layout::stack({e, d})})}};
}

std::vector<NamedLayout> on_devices(std::vector<NamedLayout> all) {
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(
        {all[i].name + " on " + to_string(other_device()), all[i].layout.on(other_device())});
  }
  return all;
}

std::vector<Shape> shapes() {
  return {Shape{0},    Shape{1},       Shape{3},          Shape{17},
          Shape{0, 5}, Shape{4, 0, 3}, Shape{1, 7},       Shape{7, 1},
          Shape{5, 6}, Shape{6, 5, 4}, Shape{2, 9, 1, 3}, Shape{2, 1, 2, 3, 1, 2, 2, 1}};
}

template <Scalar T>
T value(index_t position, int seed) {
  std::uint64_t x = static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15U +
                    static_cast<std::uint64_t>(seed) * 0xda942042e4dd58b5U + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  const auto re = static_cast<Real<T>>(static_cast<int>((x >> 33) % 19) - 9);
  if constexpr (is_complex<T>)
    return {re, static_cast<Real<T>>(static_cast<int>((x >> 40) % 19) - 9)};
  return re;
}

Index point_at(const Shape& shape, index_t position) {
  Index point = Index::filled(shape.ndim(), 0);
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    point[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return point;
}

index_t position_of(const Shape& shape, const Index& point) {
  index_t position = 0;
  index_t stride = 1;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    position += point[axis] * stride;
    stride *= shape[axis];
  }
  return position;
}

index_t elements_of(const Shape& shape) {
  index_t count = 1;
  for (const index_t extent : shape) count *= extent;
  return count;
}

void for_each_point(const Box& box, const std::function<void(const Index&)>& f) {
  for (index_t i = 0; i < elements_of(box.shape); ++i) {
    Index point = point_at(box.shape, i);
    for (int axis = 0; axis < point.ndim(); ++axis) point[axis] += box.offset[axis];
    f(point);
  }
}

Box whole(const Shape& shape) { return {Index::filled(shape.ndim(), 0), shape}; }

void for_each_leaf_of(const Layout& layout, const LayoutTest& f) {
  if (!layout.is_stack()) return f(layout);
  for (int index = 0; index < layout.part_count(); ++index) for_each_leaf_of(layout.part(index), f);
}

template <Scalar T>
std::vector<T> global_values(const Layout& layout, int seed) {
  std::vector<T> values;
  int leaf_seed = seed;
  for_each_leaf_of(layout, [&](const Layout& leaf) {
    for (index_t i = 0; i < elements_of(leaf.shape()); ++i)
      values.push_back(value<T>(i, leaf_seed));
    leaf_seed += 1000;
  });
  return values;
}

template <Scalar T>
std::vector<T> local_values(const Layout& layout, int seed) {
  std::vector<T> values;
  int leaf_seed = seed;
  for_each_leaf_of(layout, [&](const Layout& leaf) {
    for_each_point(leaf.box(), [&](const Index& point) {
      values.push_back(value<T>(position_of(leaf.shape(), point), leaf_seed));
    });
    leaf_seed += 1000;
  });
  return values;
}

template <Scalar T>
DistributedArray<T> make_array(const Layout& layout, int seed) {
  DistributedArray<T> array(layout);
  array.from_host(local_values<T>(layout, seed));
  return array;
}

void for_each_layout(const std::vector<NamedLayout>& all, const LayoutTest& f) {
  for (const NamedLayout& each : all) {
    SCOPED_TRACE(each.name + ": " + to_string(each.layout));
    f(each.layout);
  }
}

void for_all_layouts(const Comm& comm, const Shape& shape, const LayoutTest& f) {
  for_each_layout(on_devices(layouts(comm, shape)), f);
  for_each_layout(on_devices(stacks(comm)), f);
}

bool is_grouped(const Layout& layout) {
  if (layout.is_stack() || layout.is_replicated()) return false;
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    if (layout.group(rank) != layout.group(0)) return true;
  }
  return false;
}

template <Scalar T>
void expect_elements(const ConstArrayView<T>& seen, const std::vector<T>& expected) {
  EXPECT_EQ(seen.to_host(), expected);
}

#define INSTANTIATE(T)                                            \
  template T value<T>(index_t, int);                              \
  template std::vector<T> global_values<T>(const Layout&, int);   \
  template std::vector<T> local_values<T>(const Layout&, int);    \
  template DistributedArray<T> make_array<T>(const Layout&, int); \
  template void expect_elements<T>(const ConstArrayView<T>&, const std::vector<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::test
