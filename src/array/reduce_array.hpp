#pragma once

// Common parts of reductions, for reductions.cpp and norms.cpp.

#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/layout_queries.hpp"
#include "array/plan_agreement.hpp"

#include <concepts>

namespace weft::detail {

/// The value that kernel(device, out) writes to memory of the device.
template <class A, class Kernel>
A result_of(Device where, Kernel kernel) {
  A value{};
  if (where.host_accessible()) {
    dispatch(where, [&](auto device) { kernel(device, &value); });
    return value;
  }
  A* out = static_cast<A*>(scalar_scratch(where, sizeof(A)));
  dispatch(where, [&](auto device) { kernel(device, out); });
  copy_bytes(&value, Device::cpu(), out, where, sizeof(A));
  return value;
}

/// Calls f(layout, offset) for each leaf of a layout: itself, or the parts of a stack that are not
/// stacks. Their elements are consecutive in memory.
template <class F>
void for_each_leaf(const Layout& layout, index_t& offset, F& f) {
  if (!layout.is_stack()) {
    f(layout, offset);
    offset += layout.local_count();
    return;
  }
  for (int index = 0; index < layout.part_count(); ++index) {
    for_each_leaf(layout.part(index), offset, f);
  }
}

/// The parts of an array that are reduced over the same ranks, in one message.
struct ReductionSet {
  const Layout& whole;
  const Comm& comm;  // not valid() if this rank has all elements

  /// Combines local(offset, count) over the parts and over the ranks.
  template <class A, class Combine, class Local>
  A reduce(A identity, ReduceOp op, Combine combine, Local local) const {
    A value = identity;
    const auto visit = [&](const Layout& leaf, index_t first) {
      if (reduction_comm(leaf) == comm) value = combine(value, local(first, leaf.local_count()));
    };
    index_t offset = 0;
    for_each_leaf(whole, offset, visit);
    return comm.valid() ? comm.allreduce(value, op) : value;
  }
};

/// Calls f(set) for each communicator that parts of an array are reduced over. The result of a set
/// is the same on all of its ranks, but not on those of other sets: decisions to communicate
/// further must be made for each set separately.
template <class F>
void for_each_reduction_set(const Layout& layout, F f) {
  int leaf_number = 0;
  const auto visit = [&](const Layout& leaf, index_t) {
    const Comm& comm = reduction_comm(leaf);
    const int mine = leaf_number++;
    int number = 0;
    bool is_first = true;
    const auto compare = [&](const Layout& other, index_t) {
      if (number++ < mine && reduction_comm(other) == comm) is_first = false;
    };
    index_t offset = 0;
    for_each_leaf(layout, offset, compare);
    if (is_first) f(ReductionSet{layout, comm});
  };
  index_t offset = 0;
  for_each_leaf(layout, offset, visit);
}

/// Combines local(offset, count) over the parts of a stack and over the ranks.
template <class A, class Combine, class Local>
A reduce_array(const Layout& layout, A identity, ReduceOp op, Combine combine, Local local) {
  A total = identity;
  for_each_reduction_set(layout, [&](const ReductionSet& set) {
    total = combine(total, set.reduce(identity, op, combine, local));
  });
  return total;
}

/// With WEFT_CHECK=1, checks that ranks reduce arrays of the same layout and have equal replicas of
/// each.
template <Scalar T, std::same_as<ConstArrayView<T>>... More>
void verify_if_checking(const char* who, const ConstArrayView<T>& x, const More&... more) {
  if (!x.comm().checks_calls()) return;
  agree_on_plan(who, {&x.layout()}, dtype_of<T>);
  verify_replicas(x);
  (verify_replicas(more), ...);
}

}  // namespace weft::detail
