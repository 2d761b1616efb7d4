#pragma once

// What a solver shows of its state, as memory: what follows need not know of types.

#include <weft/solve/solver.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::detail {

/// An array; of a stack, one of those in it that are none themselves.
struct StateArray {
  std::string name;
  DType dtype;
  Layout layout;
  const void* data;
  void* writable;  // the same memory; null for an array that is only read

  /// This rank's elements count in sums over all ranks: of copies, those of rank 0 do.
  bool counts_here() const {
    return layout.local_count() > 0 && (!layout.is_replicated() || layout.comm().rank() == 0);
  }
};

/// Numbers that each rank has for itself. Those that ranks have in common come first.
struct StateNumbers {
  std::string name;
  BufferRef memory;
  index_t common;
};

struct StateInteger {
  std::string name;
  index_t* value;
};

/// Everything a solver needs to go on, as long as the solver is there.
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

/// This rank's elements where the host can read them.
class HostCopy {
 public:
  HostCopy(const void* data, Device device, index_t bytes);
  const std::byte* data() const { return data_; }

 private:
  std::vector<std::byte> copy_;  // empty if they are there already
  const std::byte* data_;
};

/// Which rank has which element, as a number: the same for arrays that are dealt out alike.
std::uint64_t partition_hash(const std::vector<StateArray>& arrays);

/// What tells one array from another, whatever ranks it is dealt out to: up to rounding, its norm,
/// and a sum of its elements with weights that depend on their place. Collective.
struct Fingerprint {
  double norm = 0;
  double sum = 0;
};
std::vector<Fingerprint> fingerprints_of(const Comm& comm, const std::vector<StateArray>& arrays);

/// A checksum of words of 4 or 8 bytes that knows their place, so that those of parts can be added
/// in any order.
std::uint64_t checksum_of(const void* data, index_t bytes, index_t word, index_t place);

}  // namespace weft::detail
