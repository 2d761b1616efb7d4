#include "comm/node_board.hpp"

#include <weft/core/error.hpp>

#include "comm/call_fingerprint.hpp"
#include "comm/copy_to_shared.hpp"
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

constexpr index_t most_in_slab(DType dtype) { return NodeArea::slab_bytes / size_of(dtype); }

/// Consecutive elements that fit a slab.
struct Chunk {
  index_t first = 0;
  index_t count = 0;

  Chunk(index_t begin, ConstBufferRef data)
      : first(begin), count(std::min(most_in_slab(data.dtype), data.count - begin)) {}
};

void copy_part_to_shared(std::byte* to, ConstBufferRef from) {
  copy_to_shared(to, from.data, static_cast<std::size_t>(from.bytes()));
}

}  // namespace

NodeBoard::NodeBoard(std::unique_ptr<SharedSegment> segment, int position, int ranks,
                     NodeWaits waits)
    : segment_(std::move(segment)),
      areas_(reinterpret_cast<NodeArea*>(segment_->data())),
      position_(position),
      ranks_(ranks),
      waits_(std::move(waits)),
      inputs_(static_cast<std::size_t>(ranks)) {}

template <class Done>
void NodeBoard::wait_until(int position, Done done) {
  constexpr int quick_looks = 32;  // without a call; about 0.5 us
  for (int look = 0; look < (waits_.oversubscribed ? 1 : quick_looks); ++look) {
    if (done()) return;
    relax();
  }
  constexpr std::chrono::duration<double> between_checks(0.1);
  auto next_check = between_checks;
  Waiter waiter(waits_.oversubscribed);
  while (!done()) {
    if (!waiter.pause()) continue;
    waits_.progress();
    if (waiter.waited() < next_check) continue;
    next_check += between_checks;
    // A peer that has ended may have done its share before.
    if (segment_->has_ended(position) && !done()) waits_.lost(position);
  }
}

void NodeBoard::publish(std::uint64_t tag) {
  NodeArea::Line& mine = line(position_, ++generation_);
  mine.tag = tag;
  mine.generation.store(generation_, std::memory_order_release);
  // Peers still hold the line of the next step. Fetching it now is free; its first store would wait
  // for it. (Fetching more of the next data is slower where two ranks share a core.)
  __builtin_prefetch(&line(position_, generation_ + 1), 1);
}

void NodeBoard::await(std::uint64_t step, std::uint64_t tag) {
  bool same = true;
  for (int number = 1; number < ranks_; ++number) {
    const NodeArea::Line& theirs = line(peer(number), step);
    wait_until(peer(number),
               [&] { return theirs.generation.load(std::memory_order_acquire) == step; });
    same = same && theirs.tag == tag;
  }
  if (!same) [[unlikely]]
    throw_disagreement(step, tag);
}

/// All ranks have seen all tags, so all of them throw.
void NodeBoard::throw_disagreement(std::uint64_t step, std::uint64_t tag) {
  const auto tag_of = [&](int position) {
    return position == position_ ? tag : line(position, step).tag;
  };
  int other = 1;
  while (tag_of(other) == tag_of(0)) ++other;
  throw CommError(
      disagreement(0, Tag::fingerprint(tag_of(0)), other, Tag::fingerprint(tag_of(other))));
}

void NodeBoard::allreduce_inline(ConstBufferRef in, BufferRef out, ReduceOp op) {
  const std::uint64_t step = generation_ + 1;
  copy_part_to_shared(line(position_, step).payload.data(), in);
  exchange(Tag::of(CallKind::allreduce, in, op));
  for (int position = 0; position < ranks_; ++position) {
    inputs_[static_cast<std::size_t>(position)] = line(position, step).payload.data();
  }
  void* output = out.data;
  combine(out.where, in.dtype, op, inputs_, {&output, 1}, in.count);
}

template <class Write, class Read>
void NodeBoard::in_chunks(ConstBufferRef data, std::uint64_t tag, Write write, Read read) {
  Chunk chunk(0, data);
  write(chunk);
  publish(tag);
  for (;;) {
    const std::uint64_t step = generation_;
    await(step, tag);
    const index_t end = chunk.first + chunk.count;
    const Chunk next(end, data);
    if (next.count > 0) {
      write(next);
      publish(tag);
    }
    read(chunk, step);
    if (next.count == 0) return;
    chunk = next;
  }
}

void NodeBoard::allreduce_one_shot(ConstBufferRef in, BufferRef out, ReduceOp op) {
  const auto write = [&](Chunk chunk) {
    copy_part_to_shared(slab(position_, generation_ + 1), in.part(chunk.first, chunk.count));
  };
  const auto read = [&](Chunk chunk, std::uint64_t step) {
    for (int position = 0; position < ranks_; ++position) {
      inputs_[static_cast<std::size_t>(position)] =
          position == position_ ? in.part(chunk.first, 0).data : slab(position, step);
    }
    void* output = out.part(chunk.first, 0).data;
    combine(out.where, in.dtype, op, inputs_, {&output, 1}, chunk.count);
  };
  in_chunks(in, Tag::of(CallKind::allreduce, in, op), write, read);
}

void NodeBoard::allreduce_two_shot(ConstBufferRef in, BufferRef out, ReduceOp op) {
  // What the others reduce: all but this rank's slice.
  const auto write = [&](Chunk chunk) {
    const ConstBufferRef data = in.part(chunk.first, chunk.count);
    const Slice mine(chunk.count, in.dtype, position_, ranks_);
    const index_t end = mine.first + mine.count;
    std::byte* const target = slab(position_, generation_ + 1);
    copy_part_to_shared(target, data.part(0, mine.first));
    copy_part_to_shared(target + end * size_of(in.dtype), data.part(end, chunk.count - end));
  };
  const auto read = [&](Chunk chunk, std::uint64_t step) {
    const BufferRef result = out.part(chunk.first, chunk.count);
    reduce_slice(in.part(chunk.first, chunk.count), result, op, step);
    gather_slices(result, step);
  };
  in_chunks(in, Tag::of(CallKind::allreduce, in, op), write, read);
}

void NodeBoard::reduce_slice(ConstBufferRef in, BufferRef out, ReduceOp op, std::uint64_t step) {
  const Slice mine(in.count, in.dtype, position_, ranks_);
  const index_t offset = mine.first * size_of(in.dtype);
  for (int position = 0; position < ranks_; ++position) {
    inputs_[static_cast<std::size_t>(position)] =
        position == position_ ? in.part(mine.first, 0).data : slab(position, step) + offset;
  }
  const BufferRef slice = out.part(mine.first, mine.count);
  void* output = slice.data;
  combine(out.where, in.dtype, op, inputs_, {&output, 1}, mine.count);
  copy_part_to_shared(slab(position_, step) + offset, slice);
  area(position_).reduced.store(step, std::memory_order_release);
}

void NodeBoard::gather_slices(BufferRef out, std::uint64_t step) {
  for (int number = 1; number < ranks_; ++number) {
    const int from = peer(number);
    const Slice theirs(out.count, out.dtype, from, ranks_);
    wait_until(from, [&] {
      // It may be a step ahead.
      const std::uint64_t reduced = area(from).reduced.load(std::memory_order_acquire);
      return reduced == step || reduced == step + 1;
    });
    const BufferRef slice = out.part(theirs.first, theirs.count);
    if (slice.count == 0) continue;
    std::memcpy(slice.data, slab(from, step) + theirs.first * size_of(out.dtype),
                static_cast<std::size_t>(slice.bytes()));
  }
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
  const auto write = [&](Chunk chunk) {
    if (position_ != 0) return;
    copy_part_to_shared(slab(0, generation_ + 1), data.part(chunk.first, chunk.count));
  };
  const auto read = [&](Chunk chunk, std::uint64_t step) {
    if (position_ == 0) return;
    const BufferRef target = data.part(chunk.first, chunk.count);
    if (chunk.count == 0) return;
    std::memcpy(target.data, slab(0, step), static_cast<std::size_t>(target.bytes()));
  };
  in_chunks(data, Tag::of(CallKind::broadcast, data, ReduceOp::sum), write, read);
}

void NodeBoard::skip_to_generation(std::uint64_t generation) {
  generation_ = generation;
  area(position_).reduced.store(generation, std::memory_order_relaxed);
  // Nobody waits for this rank before it has skipped, too.
  exchange(0);
}

}  // namespace weft::detail
