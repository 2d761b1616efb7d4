#pragma once

// The scalars of a solver: inner products, norms and the coefficients made of them. A textbook
// writes
//
//   alpha = <r, r> / <p, A p>,  x += alpha p
//
// Here these numbers stay in the memory of the device that holds the arrays, in double precision,
// so that an iteration never blocks on the host and can be recorded as a graph. The terms:
//
// Slot: the place of one number. A kernel leaves this rank's part of a sum in a slot
// (Scalars::sum), one allreduce completes it (Scalars::finish), and later kernels read it. Slots
// that are reduced together are adjacent, so that one allreduce serves them all.
//
// Quotient (kernels::Quotient): a coefficient such as alpha, as pointers to its numerator and its
// denominator; the kernel that uses it divides. If either is not positive, the quotient is 0, and
// kernels then leave their arrays unchanged. So x stays as it is after a breakdown, after NaN, or
// after exact convergence, until the host checks the slots and stops the solver.
//
// Bank: the slots of one iteration. beta = gamma' / gamma needs a number of the last iteration
// together with a new one, so there are two banks. Iteration k starts from bank k % 2, its parity,
// and leaves what the next one starts from in the other. The addresses depend on the parity alone;
// there is one recorded graph for each.
//
// Sum space (SumSpace): which elements a rank adds to a sum, and over which communicator the sum is
// reduced, so that each element of a layout counts once. Replicated arrays need no communicator;
// the parts of a stack can need different ones. CGLS has one space for its domain and one for its
// range.

#include <weft/array/layout.hpp>
#include <weft/core/buffer.hpp>

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace weft::detail {

/// How to sum over the elements of a layout so that each counts once.
class SumSpace {
 public:
  /// A contiguous range of local elements, and the communicator of the ranks that hold the rest.
  /// The communicator is invalid if this rank holds all of them.
  struct Range {
    index_t first;
    index_t count;
    Comm comm;
  };

  explicit SumSpace(const Layout& layout);

  /// One range, or more for stacks whose parts are distributed over different ranks.
  const std::vector<Range>& ranges() const { return ranges_; }
  const Comm& comm() const { return comm_; }
  /// Some parts belong to groups of ranks; some are common to all ranks.
  bool has_groups() const { return has_groups_; }
  bool has_common_parts() const { return has_common_parts_; }

 private:
  void add(const Layout& layout);

  Comm comm_;
  std::vector<Range> ranges_;
  bool has_groups_ = false;
  bool has_common_parts_ = false;
};

/// The slots of a solver, in device memory.
///
/// Results are bitwise the same on all ranks, or, if all arrays are within groups of ranks, on all
/// ranks of a group: each group may then solve a problem of its own.
class Scalars {
 public:
  /// `count` slots, all zero, for sums over `spaces`.
  Scalars(Device device, int count, std::initializer_list<const SumSpace*> spaces);

  Device device() const { return numbers_.device(); }
  index_t count() const { return count_; }
  const double* operator[](int slot) const { return numbers_.data() + slot; }
  double* at(int slot) { return numbers_.data() + slot; }

  /// Computes this rank's part of a sum, or of several sums in adjacent slots: calls
  /// kernel(first, count, out) for each range of elements.
  template <class Kernel>
  void sum(const SumSpace& space, int slot, Kernel kernel) {
    const std::vector<SumSpace::Range>& ranges = space.ranges();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      kernel(ranges[i].first, ranges[i].count, partial(space, i) + slot);
    }
  }

  /// Completes `count` sums, from `slot` on, over all ranks. At most one allreduce per range.
  void finish(const SumSpace& space, int slot, int count);
  /// The same for sums over two spaces, those of the second in the slots after those of the first.
  /// One allreduce if both spaces have the same communicator.
  void finish(const SumSpace& space, int slot, int count, const SumSpace& other, int other_count);

  /// Copies the first values.size() slots to the host. Blocks until the device is done.
  void read(std::span<double> values) const;

  /// All memory: the slots, then the partial sums.
  BufferRef memory() { return numbers_; }

 private:
  /// The partial sums of a range: in the slots themselves if there is one range, else in a row of
  /// their own.
  double* partial(const SumSpace& space, std::size_t range) {
    const bool alone = space.ranges().size() == 1;
    return numbers_.data() + (alone ? 0 : static_cast<index_t>(range + 1) * count_);
  }
  void allreduce(const Comm& comm, double* first, int count);
  void finish_ranges(const SumSpace& space, int slot, int count);
  void agree(int slot, int count);

  index_t count_;
  std::optional<Comm> common_;  // set if groups of ranks work on a common problem
  Buffer<double> numbers_;      // the slots, then the rows of partial sums
};

}  // namespace weft::detail
