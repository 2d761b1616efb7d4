#pragma once

// The numbers of a solver, which stay where its arrays are.

#include <weft/array/layout.hpp>
#include <weft/core/buffer.hpp>

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace weft::detail {

/// How a sum over the elements of a layout is taken so that each of them counts once.
class SumSpace {
 public:
  /// Elements that follow one another in memory, and the ranks that have the rest of them; no valid
  /// communicator if this rank has them all.
  struct Range {
    index_t first;
    index_t count;
    Comm comm;
  };

  explicit SumSpace(const Layout& layout);

  /// One, but for stacks of parts that are spread over different ranks.
  const std::vector<Range>& ranges() const { return ranges_; }
  const Comm& comm() const { return comm_; }
  /// There are parts that groups of ranks have for themselves, and parts that all ranks have
  /// together.
  bool has_groups() const { return has_groups_; }
  bool has_common_parts() const { return has_common_parts_; }

 private:
  void add(const Layout& layout);

  Comm comm_;
  std::vector<Range> ranges_;
  bool has_groups_ = false;
  bool has_common_parts_ = false;
};

/// A few numbers in memory of a device: sums that kernels leave there, to be finished over the
/// ranks and read by other kernels. The host reads them only when it asks.
///
/// All ranks get the same, bit by bit. But if all arrays are within groups of ranks, each group has
/// its own: it may work on a problem of its own.
class Scalars {
 public:
  /// All zero, for sums over `spaces`.
  Scalars(Device device, int count, std::initializer_list<const SumSpace*> spaces);

  Device device() const { return numbers_.device(); }
  index_t count() const { return count_; }
  const double* operator[](int slot) const { return numbers_.data() + slot; }
  double* at(int slot) { return numbers_.data() + slot; }

  /// Takes this rank's part of one sum, or of several in slots that follow one another: calls
  /// kernel(first, count, out) for the elements from `first` on.
  template <class Kernel>
  void sum(const SumSpace& space, int slot, Kernel kernel) {
    const std::vector<SumSpace::Range>& ranges = space.ranges();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      kernel(ranges[i].first, ranges[i].count, partial(space, i) + slot);
    }
  }

  /// Makes the parts of `count` sums from `slot` on sums over all ranks. One allreduce, or none.
  void finish(const SumSpace& space, int slot, int count);
  /// The same for sums over two spaces, those of the second behind those of the first: still one
  /// allreduce if their elements are spread over the same ranks.
  void finish(const SumSpace& space, int slot, int count, const SumSpace& other, int other_count);

  /// All of them on the host, from the first on. Waits for the device.
  void read(std::span<double> values) const;

  /// All of it: the numbers, then sums that are not finished.
  BufferRef memory() { return numbers_; }

 private:
  /// Where the partial sums of a range are: in a row of their own, unless there is but one range.
  double* partial(const SumSpace& space, std::size_t range) {
    const bool alone = space.ranges().size() == 1;
    return numbers_.data() + (alone ? 0 : static_cast<index_t>(range + 1) * count_);
  }
  void allreduce(const Comm& comm, double* first, int count);
  void finish_ranges(const SumSpace& space, int slot, int count);
  void agree(int slot, int count);

  index_t count_;
  std::optional<Comm> common_;  // of groups of ranks that work on a common problem
  Buffer<double> numbers_;      // the results, and behind them the rows of partial sums
};

}  // namespace weft::detail
