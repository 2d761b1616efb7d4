#pragma once

#include "core/hash.hpp"
#include "sparse_allreduce/accumulation_kernels.hpp"
#include "sparse_allreduce/pair_kernels.hpp"

#include <cstdint>

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

/// Where the slots of a call begin. Those to owners move on by a slot every time. Those of sums
/// begin anywhere: in step with the others, they would leave out the same sums again and again.
constexpr index_t first_in_slot(index_t call, index_t capacity, bool of_sums) {
  if (!of_sums) return call * capacity;
  return static_cast<index_t>(detail::mix_bits(static_cast<std::uint64_t>(call) + 1) >> 1);
}

/// Pairs offsets[r], ..., offsets[r + 1] - 1, sorted by index, go to slot r. If they do not fit,
/// those from number first_in_slot(*call, ...) on do, cyclically; the others are added to the
/// residual and counted in *overflow. The order stays the same.
struct SlotFilling {
  Slots slots;
  const void* pairs = nullptr;
  const index_t* offsets = nullptr;
  const index_t* call = nullptr;
  const BadElements* bad = nullptr;
  void* residual = nullptr;
  index_t* overflow = nullptr;
  /// *sent = pairs in the slots of other ranks than `own`.
  index_t* sent = nullptr;
  int own = -1;
  /// If not null, the sums of which the pairs were made. Others than those in slots are not added
  /// to the residual; what their rounding has added is taken back, unless the call is refused: then
  /// it has added nothing.
  const SelectedList* sums = nullptr;
  double divisor = 1;
  const index_t* refused = nullptr;
};
template <class Device>
void fill_slots(Device device, const SlotFilling& work);

/// Adds the pairs of slot 0, then of slot 1, ... to `sum`.
template <class Device>
void add_slots(Device device, const Slots& from, void* sum);

/// What the headers of slots say.
struct SlotSummary {
  /// Whether the call is refused: a gradient has an element that is not finite.
  index_t refused = 0;
  /// The rank of the first slot that tells of one, and its index.
  index_t rank = -1;
  index_t first = -1;
  index_t pairs = 0;
};
template <class Device>
void read_headers(Device device, const Slots& slots, SlotSummary* summary);

/// Adds to the residual those pairs of sent slot r whose indices `kept` slot r lacks.
template <class Device>
void return_others(Device device, const Slots& sent, const Slots& kept, void* residual);

/// The pairs of all slots, one after the other, and their number.
template <class Device>
void join_slots(Device device, const Slots& slots, void* pairs, index_t* count);

}  // namespace weft::kernels
