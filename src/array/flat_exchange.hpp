#pragma once

// Exchanges of elements that are identified by a number, such as their position in the row-major
// order of the global array. For maps that take boxes to boxes, Redistribution is faster.

#include <weft/array/array_view.hpp>
#include <weft/comm/parts.hpp>
#include <weft/core/buffer.hpp>

#include <functional>
#include <vector>

namespace weft::detail {

/// Elements with consecutive numbers that lie one after the other in the memory of a rank.
struct FlatRun {
  index_t number;
  index_t position;  // in memory
  index_t length;
};

/// Adds the runs of a region of the box, in ascending order. The element at `at` of the global
/// array has the number linear(shape, at + shift).
void add_flat_runs(const Box& region, const Index& shift, const Box& box, const Shape& shape,
                   std::vector<FlatRun>& runs);
/// The runs of a rank's part, numbered in row-major order of the global array.
std::vector<FlatRun> flat_runs(const Layout& layout, int rank);

/// The runs of a rank in ascending order; every rank computes those of the others.
using FlatRunsOf = std::function<std::vector<FlatRun>(int rank)>;

/// y = alpha x + beta y, where elements with the same number correspond. The sources of each group
/// of `from` have all numbers; each rank of a replicated `from` has them, and uses its own. One
/// all_to_all per run, or none, and no allocation after construction.
///
/// Collective over the ranks of a group of `from`; callers compare the arguments.
template <Scalar T>
class FlatExchange {
 public:
  FlatExchange(const Layout& from, const Layout& to, const FlatRunsOf& sources,
               const FlatRunsOf& targets);

  /// Whether any rank needs elements of another; the same on all ranks of the group.
  bool needs_messages() const { return messages_; }
  /// Bytes that this rank reads and writes in memory.
  double bytes() const;
  /// With beta = 0, y is not read; with alpha = 1 as well, elements are copied bit by bit.
  void run(const ConstArrayView<T>& x, const ArrayView<T>& y, T alpha, T beta);

 private:
  /// Runs that are copied from one memory to another.
  class Copies {
   public:
    void add(index_t from, index_t to, index_t length);
    /// Copies the list to the device; add() must not be called afterwards.
    void finish(Device device);
    index_t elements() const { return elements_; }
    void run(Device device, const T* x, T* y, T alpha, T beta) const;

   private:
    std::vector<index_t> from_;
    std::vector<index_t> to_;
    std::vector<index_t> lengths_;
    index_t elements_ = 0;
    index_t longest_ = 0;
    Buffer<index_t> table_;  // the three lists, one after the other
    index_t count_ = 0;
  };

  /// What is sent to, or received from, each rank of the group.
  struct Side {
    Copies copies;  // between the array and the message buffer
    std::vector<index_t> counts;
    std::vector<index_t> offsets;
    Parts parts;
    bool in_place = true;  // every message is one run of the array, which then is the buffer
    index_t packed = 0;
    Buffer<T> buffer;

    void begin_peer();
    void add(index_t position, index_t length, bool is_outgoing);
    void finish(Device device, bool needs_buffer);
  };

  Comm comm_;  // of the group
  Device device_;
  bool messages_ = false;
  Copies own_;
  Side outgoing_;
  Side incoming_;
};

}  // namespace weft::detail
