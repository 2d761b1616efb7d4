#pragma once

#include "sparse_allreduce/accumulation_kernels.hpp"
#include "sparse_allreduce/pair_kernels.hpp"

/// Slots: messages of a fixed length that hold up to `capacity` pairs, after a header with their
/// number. The host need not know the numbers.
namespace weft::kernels {

struct SlotHeader {
  index_t count = 0;
  /// The first element of the sender's gradient that is not finite, or -1.
  index_t first_bad = -1;
};

/// One slot per rank, one after the other.
struct Slots {
  PairTypes types;
  index_t capacity = 0;
  int ranks = 0;
  void* data = nullptr;

  /// Of one slot.
  index_t bytes() const {
    constexpr index_t aligned = sizeof(SlotHeader);
    return aligned + (capacity * types.bytes() + aligned - 1) / aligned * aligned;
  }
};

/// Pairs offsets[r], ..., offsets[r + 1] - 1, sorted by index, go to slot r. If they do not fit,
/// those from number `start` on do, cyclically; the others are added to the residual and counted in
/// *overflow. The order stays the same.
struct SlotFilling {
  Slots slots;
  const void* pairs = nullptr;
  const index_t* offsets = nullptr;
  index_t start = 0;
  const BadElements* bad = nullptr;
  void* residual = nullptr;
  index_t* overflow = nullptr;
  /// If not null, the sums of which the pairs were made. Others than those in slots are not added
  /// to the residual; what their rounding has added is taken back.
  const SelectedList* sums = nullptr;
  double divisor = 1;
};
template <class Device>
void fill_slots(Device device, const SlotFilling& work);

/// Adds the pairs of slot 0, then of slot 1, ... to `sum`.
template <class Device>
void add_slots(Device device, const Slots& from, void* sum);

/// The first bad element and the rank of the first slot that has one; -1 if there is none.
struct BadSlot {
  index_t rank = -1;
  index_t first = -1;
};
template <class Device>
void find_bad_slot(Device device, const Slots& slots, BadSlot* bad);

/// Adds to the residual those pairs of sent slot r whose indices `kept` slot r lacks.
template <class Device>
void return_others(Device device, const Slots& sent, const Slots& kept, void* residual);

/// The pairs of all slots, one after the other, and their number.
template <class Device>
void join_slots(Device device, const Slots& slots, void* pairs, index_t* count);

}  // namespace weft::kernels
