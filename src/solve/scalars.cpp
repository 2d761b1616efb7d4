#include "solve/scalars.hpp"

#include <weft/kernel/dispatch.hpp>

#include "array/layout_queries.hpp"
#include "solve/solver_kernels.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

std::size_t rows_for(std::initializer_list<const SumSpace*> spaces) {
  std::size_t rows = 1;
  for (const SumSpace* space : spaces) {
    if (space->ranges().size() > 1) rows = std::max(rows, space->ranges().size() + 1);
  }
  return rows;
}

}  // namespace

SumSpace::SumSpace(const Layout& layout) : comm_(layout.comm()) { add(layout); }

void SumSpace::add(const Layout& layout) {
  if (layout.is_stack()) {
    for (int index = 0; index < layout.part_count(); ++index) add(layout.part(index));
    return;
  }
  (layout.is_within_groups() ? has_groups_ : has_common_parts_) = true;
  const Comm& comm = reduction_comm(layout);
  const index_t count = layout.local_count();
  if (ranges_.empty() || !(ranges_.back().comm == comm)) {
    const index_t first = ranges_.empty() ? 0 : ranges_.back().first + ranges_.back().count;
    ranges_.push_back({first, count, comm});
  } else {
    ranges_.back().count += count;
  }
}

Scalars::Scalars(Device device, int count, std::initializer_list<const SumSpace*> spaces)
    : count_(count), numbers_(count * static_cast<index_t>(rows_for(spaces)), device) {
  const std::vector<double> zeros(static_cast<std::size_t>(numbers_.size()));
  copy_bytes(numbers_.data(), device, zeros.data(), Device::cpu(), zeros.size() * sizeof(double));
  bool has_groups = false;
  bool has_common_parts = false;
  for (const SumSpace* space : spaces) {
    has_groups = has_groups || space->has_groups();
    has_common_parts = has_common_parts || space->has_common_parts();
  }
  if (has_groups && has_common_parts) common_ = (*spaces.begin())->comm();
}

void Scalars::finish(const SumSpace& space, int slot, int count) {
  finish_ranges(space, slot, count);
  agree(slot, count);
}

void Scalars::finish_ranges(const SumSpace& space, int slot, int count) {
  const std::vector<SumSpace::Range>& ranges = space.ranges();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    allreduce(ranges[i].comm, partial(space, i) + slot, count);
  }
  if (ranges.size() == 1) return;
  dispatch(numbers_.device(), [&](auto device) {
    kernels::add_rows(device, count, static_cast<index_t>(ranges.size()), count_,
                      partial(space, 0) + slot, at(slot));
  });
}

void Scalars::finish(const SumSpace& space, int slot, int count, const SumSpace& other,
                     int other_count) {
  const SumSpace::Range& first = space.ranges().front();
  const SumSpace::Range& second = other.ranges().front();
  const bool together = space.ranges().size() == 1 && other.ranges().size() == 1;
  if (together && first.comm == second.comm) {
    allreduce(first.comm, at(slot), count + other_count);
  } else {
    finish_ranges(space, slot, count);
    finish_ranges(other, slot + count, other_count);
  }
  agree(slot, count + other_count);
}

void Scalars::agree(int slot, int count) {
  // Groups add in different orders, so all take the result of rank 0.
  if (common_) common_->broadcast(BufferRef(at(slot), count, numbers_.device()), 0);
}

void Scalars::allreduce(const Comm& comm, double* first, int count) {
  if (comm.valid()) comm.allreduce(BufferRef(first, count, numbers_.device()));
}

void Scalars::read(std::span<double> values) const {
  copy_bytes(values.data(), Device::cpu(), numbers_.data(), numbers_.device(),
             values.size() * sizeof(double));
}

}  // namespace weft::detail
