#pragma once

// Collectives among the processes of one host through shared memory.
//
// Every rank has an area of the shared memory that only it writes: a line with a generation, a tag
// and a small payload, a second generation, and a slab for larger data; line and slab several
// times, used in turn. The generation counts steps. In each step a rank
//
//   1. writes its data, then its line: tag, then the generation (release);
//   2. waits until the lines of all others have this generation (acquire), and reads their data.
//
// Large data takes several steps. A rank publishes its data of the next step before it reads that
// of the current one, so that it rarely waits; the first step is complete on its own, since the
// ranks compare their tags there.
//
// Three copies are enough, without a wait at the end of a step, and four make the index a mask: a
// rank publishes step g + 1 after it has seen all ranks in step g, and has read step g - 1. So
// when it writes step g + 3, it has seen all ranks in step g + 2, and they have read step g.

#include "comm/shared_segment.hpp"
#include "comm/transport.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace weft::detail {

/// The part of the shared memory that one rank writes.
struct NodeArea {
  static constexpr index_t slab_bytes = 256 << 10;  // set with processes_bench
  static constexpr std::size_t copies = 4;

  /// The first 48 bytes of data arrive with the generation, in one cache line.
  struct alignas(128) Line {
    std::atomic<std::uint64_t> generation;
    std::uint64_t tag;
    std::array<std::byte, 496> payload;
  };

  std::array<Line, copies> lines;
  /// The last step in which this rank has reduced its slice.
  alignas(128) std::atomic<std::uint64_t> reduced;
  alignas(4096) std::array<std::array<std::byte, slab_bytes>, copies> slabs;
};

/// What a rank does while it waits for peers, and when one of them does not come.
struct NodeWaits {
  /// There are more ranks than cores: a rank that waits lets others run.
  bool oversubscribed = false;
  /// Called every few microseconds: must make progress on other communication of this rank, and may
  /// throw.
  std::function<void()> progress;
  /// A peer, given by its position, has ended. Does not return.
  std::function<void(int)> lost;
};

/// The collectives of one rank. All ranks of the board make the same calls in the same order.
class NodeBoard {
 public:
  NodeBoard(std::unique_ptr<SharedSegment> segment, int position, int ranks, NodeWaits waits);

  static std::size_t bytes_for(int ranks) {
    return static_cast<std::size_t>(ranks) * sizeof(NodeArea);
  }
  static constexpr index_t inline_bytes = sizeof(NodeArea::Line::payload);

  // Three ways to compute the same result: the op over the ranks in order.

  /// The data goes beside the generation. Up to inline_bytes.
  void allreduce_inline(ConstBufferRef in, BufferRef out, ReduceOp op);
  /// Every rank reads the data of all others.
  void allreduce_one_shot(ConstBufferRef in, BufferRef out, ReduceOp op);
  /// Every rank reduces one slice, and reads the other slices.
  void allreduce_two_shot(ConstBufferRef in, BufferRef out, ReduceOp op);

  /// One of them; not `beneath`.
  void allreduce(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out, ReduceOp op);

  /// From the first rank of the board.
  void broadcast(BufferRef data);

  /// Begins with another generation, the same on all ranks, before the first call. For tests.
  void skip_to_generation(std::uint64_t generation);

 private:
  NodeArea& area(int position) { return areas_[position]; }
  NodeArea::Line& line(int position, std::uint64_t step) {
    return area(position).lines[step % NodeArea::copies];
  }
  std::byte* slab(int position, std::uint64_t step) {
    return area(position).slabs[step % NodeArea::copies].data();
  }
  /// Another rank; each rank begins with a different one, so that they do not all read the same
  /// line.
  int peer(int number) const {
    const int position = position_ + number;
    return position < ranks_ ? position : position - ranks_;
  }

  /// Tells the others that this rank has written its data of the step after the last one.
  void publish(std::uint64_t tag);
  /// Waits until all others have published the step. Throws if their tags differ.
  void await(std::uint64_t step, std::uint64_t tag);
  void exchange(std::uint64_t tag) {
    publish(tag);
    await(generation_, tag);
  }
  void reduce_slice(ConstBufferRef in, BufferRef out, ReduceOp op, std::uint64_t step);
  void gather_slices(BufferRef out, std::uint64_t step);
  /// For each chunk: write(chunk) to this rank's slab of the next step, and, when all have
  /// published that step, read(chunk, step).
  template <class Write, class Read>
  void in_chunks(ConstBufferRef data, std::uint64_t tag, Write write, Read read);
  template <class Done>
  void wait_until(int position, Done done);
  [[noreturn]] void throw_disagreement(std::uint64_t step, std::uint64_t tag);

  std::unique_ptr<SharedSegment> segment_;
  NodeArea* areas_;
  int position_;
  int ranks_;
  NodeWaits waits_;
  /// The last step that this rank has published.
  std::uint64_t generation_ = 0;
  std::vector<const void*> inputs_;
};

}  // namespace weft::detail
