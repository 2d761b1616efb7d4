#pragma once

#include <weft/core/shape.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace weft {

/// How a buffer divides into one part per rank; parts may be empty.
class Parts {
 public:
  Parts() = default;
  /// Consecutive parts of these lengths.
  explicit Parts(std::vector<index_t> counts);
  /// Parts at any offsets of the buffer.
  Parts(std::vector<index_t> counts, std::vector<index_t> offsets);
  /// Becomes `ranks` consecutive parts of the same length; reuses its memory.
  void make_even(int ranks, index_t count);

  int ranks() const { return static_cast<int>(counts_.size()); }
  index_t count(int rank) const { return counts_[static_cast<std::size_t>(rank)]; }
  index_t offset(int rank) const { return offsets_[static_cast<std::size_t>(rank)]; }
  /// All parts have the same length and are consecutive.
  bool even() const { return even_; }
  /// The buffer must have at least this many elements.
  index_t extent() const { return extent_; }

 private:
  void summarize();

  std::vector<index_t> counts_;
  std::vector<index_t> offsets_;
  index_t extent_ = 0;
  bool even_ = true;
};

/// The parts of a call that returns before it is complete: cannot be made from a temporary.
using AsyncParts = std::reference_wrapper<const Parts>;

}  // namespace weft
