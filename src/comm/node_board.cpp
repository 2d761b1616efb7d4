#include "comm/node_board.hpp"

#include <weft/core/error.hpp>

#include "comm/call_fingerprint.hpp"
#include "comm/memory_ops.hpp"
#include "comm/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

namespace weft::detail {
namespace {

/// What the ranks of one step must have in common, in a number.
struct Tag {
  static constexpr int op_bits = 4;
  static constexpr int dtype_bits = 4;
  static constexpr int kind_bits = 4;

  static std::uint64_t of(CallKind kind, ConstBufferRef data, ReduceOp op) {
    auto tag = static_cast<std::uint64_t>(data.count);
    tag = tag << dtype_bits | static_cast<std::uint64_t>(data.dtype);
    tag = tag << op_bits | static_cast<std::uint64_t>(op);
    return tag << kind_bits | static_cast<std::uint64_t>(kind);
  }
  static CallFingerprint fingerprint(std::uint64_t tag) {
    const auto take = [&](int bits) {
      const std::uint64_t low = tag & ((1U << bits) - 1);
      tag >>= bits;
      return static_cast<std::int64_t>(low);
    };
    CallFingerprint call = {any, any, any, any, any, any};
    call[0] = take(kind_bits);
    const std::int64_t op = take(op_bits);
    if (call[0] == code(CallKind::allreduce)) call[2] = op;
    call[1] = take(dtype_bits);
    call[4] = static_cast<std::int64_t>(tag);
    return call;
  }
};

void copy_to(std::byte* target, ConstBufferRef from) {
  if (from.count > 0) std::memcpy(target, from.data, static_cast<std::size_t>(from.bytes()));
}

/// The slice of `count` elements that a rank reduces: whole cache lines, except for the last.
struct Slice {
  index_t first = 0;
  index_t count = 0;

  Slice(index_t elements, DType dtype, int position, int ranks) {
    const index_t line = 64 / std::gcd(index_t{64}, size_of(dtype));
    const index_t lines = (elements + line - 1) / line;
    const auto bound = [&](int slice) { return std::min(elements, lines * slice / ranks * line); };
    first = bound(position);
    count = bound(position + 1) - first;
  }
};

/// Calls step(first, count) for consecutive parts that fit a slab.
template <class Step>
void for_each_chunk(ConstBufferRef data, Step step) {
  const index_t most = NodeArea::slab_bytes / size_of(data.dtype);
  for (index_t first = 0; first < data.count; first += most) {
    step(first, std::min(most, data.count - first));
  }
}

}  // namespace

NodeBoard::NodeBoard(std::unique_ptr<SharedSegment> segment, int position, int ranks,
                     NodeWaits waits)
    : segment_(std::move(segment)),
      areas_(reinterpret_cast<NodeArea*>(segment_->data())),
      position_(position),
      ranks_(ranks),
      oversubscribed_(ranks > available_cores()),
      waits_(std::move(waits)),
      inputs_(static_cast<std::size_t>(ranks)) {}

template <class Done>
void NodeBoard::wait_until(int position, Done done) {
  if (done()) return;
  constexpr std::chrono::duration<double> between_checks(0.1);
  auto next_check = between_checks;
  Waiter waiter(oversubscribed_);
  while (!done()) {
    if (!waiter.pause()) continue;
    waits_.progress();
    if (waiter.waited() < next_check) continue;
    next_check += between_checks;
    // A peer that has ended may have done its share before.
    if (segment_->has_ended(position) && !done()) waits_.lost(position);
  }
}

void NodeBoard::exchange(std::uint64_t tag) {
  NodeArea::Line& mine = line(position_);
  mine.tag = tag;
  mine.generation.store(generation_, std::memory_order_release);
  // Peers still hold the line of the next step. Fetching it now is free; its first store would wait
  // for it.
  __builtin_prefetch(&area(position_).lines[(generation_ + 1) % 2], 1);
  bool same = true;
  for (int step = 1; step < ranks_; ++step) {
    // Each rank starts with a different peer, so that they do not all read the same line.
    const int peer = position_ + step < ranks_ ? position_ + step : position_ + step - ranks_;
    const NodeArea::Line& theirs = line(peer);
    wait_until(peer,
               [&] { return theirs.generation.load(std::memory_order_acquire) == generation_; });
    same = same && theirs.tag == tag;
  }
  if (!same) [[unlikely]]
    throw_disagreement(tag);
}

/// All ranks have seen all tags, so all of them throw.
void NodeBoard::throw_disagreement(std::uint64_t tag) {
  const std::uint64_t first = position_ == 0 ? tag : line(0).tag;
  int other = 1;
  while ((other == position_ ? tag : line(other).tag) == first) ++other;
  throw CommError(disagreement(0, Tag::fingerprint(first), other,
                               Tag::fingerprint(other == position_ ? tag : line(other).tag)));
}

void NodeBoard::allreduce_inline(ConstBufferRef in, BufferRef out, ReduceOp op) {
  begin_step();
  copy_to(line(position_).payload.data(), in);
  exchange(Tag::of(CallKind::allreduce, in, op));
  for (int peer = 0; peer < ranks_; ++peer) {
    inputs_[static_cast<std::size_t>(peer)] = line(peer).payload.data();
  }
  void* output = out.data;
  combine(out.where, in.dtype, op, inputs_, {&output, 1}, in.count);
}

void NodeBoard::allreduce_one_shot(ConstBufferRef in, BufferRef out, ReduceOp op) {
  const std::uint64_t tag = Tag::of(CallKind::allreduce, in, op);
  for_each_chunk(in, [&](index_t first, index_t count) {
    const ConstBufferRef mine = in.part(first, count);
    begin_step();
    copy_to(slab(position_), mine);
    exchange(tag);
    for (int peer = 0; peer < ranks_; ++peer) {
      inputs_[static_cast<std::size_t>(peer)] = peer == position_ ? mine.data : slab(peer);
    }
    void* output = out.part(first, count).data;
    combine(out.where, in.dtype, op, inputs_, {&output, 1}, count);
  });
}

void NodeBoard::allreduce_two_shot(ConstBufferRef in, BufferRef out, ReduceOp op) {
  const std::uint64_t tag = Tag::of(CallKind::allreduce, in, op);
  const index_t element = size_of(in.dtype);
  for_each_chunk(in, [&](index_t first, index_t count) {
    const ConstBufferRef data = in.part(first, count);
    const BufferRef result = out.part(first, count);
    const Slice mine(count, in.dtype, position_, ranks_);
    begin_step();
    std::byte* const my_slab = slab(position_);
    // What the others reduce: all but this rank's slice.
    const index_t end = mine.first + mine.count;
    copy_to(my_slab, data.part(0, mine.first));
    copy_to(my_slab + end * element, data.part(end, count - end));
    exchange(tag);

    for (int peer = 0; peer < ranks_; ++peer) {
      inputs_[static_cast<std::size_t>(peer)] =
          peer == position_ ? data.part(mine.first, 0).data : slab(peer) + mine.first * element;
    }
    const std::array<void*, 2> outputs = {result.part(mine.first, 0).data,
                                          my_slab + mine.first * element};
    combine(out.where, in.dtype, op, inputs_, outputs, mine.count);
    area(position_).reduced.store(generation_, std::memory_order_release);

    for (int step = 1; step < ranks_; ++step) {
      const int peer = position_ + step < ranks_ ? position_ + step : position_ + step - ranks_;
      const Slice theirs(count, in.dtype, peer, ranks_);
      wait_until(peer,
                 [&] { return area(peer).reduced.load(std::memory_order_acquire) == generation_; });
      copy_to(static_cast<std::byte*>(result.part(theirs.first, 0).data),
              {slab(peer) + theirs.first * element, theirs.count, in.dtype, Device::cpu()});
    }
  });
}

void NodeBoard::allreduce(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out,
                          ReduceOp op) {
  switch (algorithm) {
    case AllreduceAlgorithm::in_line: return allreduce_inline(in, out, op);
    case AllreduceAlgorithm::one_shot: return allreduce_one_shot(in, out, op);
    default: return allreduce_two_shot(in, out, op);
  }
}

void NodeBoard::broadcast(BufferRef data) {
  const std::uint64_t tag = Tag::of(CallKind::broadcast, data, ReduceOp::sum);
  for_each_chunk(data, [&](index_t first, index_t count) {
    const BufferRef chunk = data.part(first, count);
    begin_step();
    if (position_ == 0) copy_to(slab(0), chunk);
    exchange(tag);
    if (position_ == 0) return;
    copy_to(static_cast<std::byte*>(chunk.data), {slab(0), count, data.dtype, Device::cpu()});
  });
}

void NodeBoard::skip_to_generation(std::uint64_t generation) {
  generation_ = generation;
  // Nobody waits for this rank before it has skipped, too.
  begin_step();
  exchange(0);
}

}  // namespace weft::detail
