#pragma once

// Data of the conformance tests, which every transport must pass with any number of ranks.

#include "support/data.hpp"
#include "support/ranks.hpp"

#include <weft/comm/comm.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

namespace weft::test {

/// Counts on both sides of the size up to which the thread transport sends data in its slots.
inline constexpr std::array<index_t, 7> sizes = {0, 1, 3, 61, 62, 63, 500};

inline index_t at_rank(const std::vector<index_t>& counts, int rank) {
  return counts[static_cast<std::size_t>(rank)];
}

/// Counts of 0, 1 or 2 times `scale`, different between neighbours.
inline std::vector<index_t> uneven_counts(int ranks, index_t scale, int shift = 0) {
  std::vector<index_t> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back((rank + shift) % 3 * scale);
  return counts;
}

/// The parts in reverse order, with unused elements around them.
inline Parts parts_with_gaps(const std::vector<index_t>& counts) {
  std::vector<index_t> offsets(counts.size());
  index_t end = 3;
  for (std::size_t rank = counts.size(); rank-- > 0;) {
    offsets[rank] = end;
    end += counts[rank] + 2;
  }
  return Parts(counts, offsets);
}

/// Element i of the part that `from` sends to `to`.
inline Number sent(DType dtype, int from, int to, index_t i) {
  return value(dtype, from * 100 + to, i);
}

/// Part r of an array of `count` elements holds part(r, i); the rest keeps its initial value.
inline Numbers arranged(DType dtype, index_t count, const Parts& parts,
                        const std::function<Number(int, index_t)>& part) {
  Numbers all(dtype, count);
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    for (index_t i = 0; i < parts.count(rank); ++i) all.set(parts.offset(rank) + i, part(rank, i));
  }
  return all;
}

/// The communicator is usable.
inline void expect_works(const Comm& comm) {
  EXPECT_EQ(comm.allreduce(comm.rank() + 1), comm.size() * (comm.size() + 1) / 2);
}

/// Copies of host values on a device that the transport may not accept.
template <class T>
Buffer<T> on_debug(const std::vector<T>& values) {
  Buffer<T> buffer(static_cast<index_t>(values.size()), other_device());
  copy_bytes(buffer.data(), buffer.device(), values.data(), Device::cpu(),
             values.size() * sizeof(T));
  return buffer;
}

template <class T>
std::vector<T> on_host(const Buffer<T>& buffer) {
  std::vector<T> values(static_cast<std::size_t>(buffer.size()));
  copy_bytes(values.data(), Device::cpu(), buffer.data(), buffer.device(),
             values.size() * sizeof(T));
  return values;
}

}  // namespace weft::test
