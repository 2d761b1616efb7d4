#pragma once

// The state of a solver as untyped memory, for checkpoints.

#include <weft/solve/solver.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::detail {

/// An array that is not a stack; a stack is represented by its leaves.
struct StateArray {
  std::string name;
  DType dtype;
  Layout layout;
  const void* data;
  void* writable;  // the same memory; null for an array that is only read

  /// Whether this rank's elements count in sums over all ranks. Of replicated arrays, only those of
  /// rank 0 do.
  bool counts_here() const {
    return layout.local_count() > 0 && (!layout.is_replicated() || layout.comm().rank() == 0);
  }
};

/// Numbers of each rank. The first `common` are the same on all ranks.
struct StateNumbers {
  std::string name;
  BufferRef memory;
  index_t common;
};

struct StateInteger {
  std::string name;
  index_t* value;
};

/// Everything that a solver needs to resume, by reference: valid as long as the solver lives.
struct SolverState {
  explicit SolverState(AnySolver& solver);

  std::vector<StateArray> arrays;
  std::vector<StateNumbers> numbers;
  std::vector<StateInteger> integers;
};

template <Scalar T>
void add_leaves(std::vector<StateArray>& leaves, const std::string& name,
                const ConstArrayView<T>& x);
template <Scalar T>
void add_leaves(std::vector<StateArray>& leaves, const std::string& name, const ArrayView<T>& x);

/// Device memory that the host can read: a copy, unless the memory is host-accessible.
class HostCopy {
 public:
  HostCopy(const void* data, Device device, index_t bytes);
  const std::byte* data() const { return data_; }

 private:
  std::vector<std::byte> copy_;  // empty if the memory is host-accessible
  const std::byte* data_;
};

/// A hash of the partition of the arrays over the ranks.
std::uint64_t partition_hash(const std::vector<StateArray>& arrays);

/// Identifies an array up to rounding, independent of its partition: its norm, and the sum of its
/// elements with weights that depend on their position.
struct ArrayFingerprint {
  double norm = 0;
  double sum = 0;
};
/// Collective.
std::vector<ArrayFingerprint> fingerprints_of(const Comm& comm,
                                              const std::vector<StateArray>& arrays);

/// A checksum of words of 4 or 8 bytes that depends on their position. The checksums of parts can
/// be added in any order.
std::uint64_t checksum_of(const void* data, index_t bytes, index_t word, index_t place);

}  // namespace weft::detail
