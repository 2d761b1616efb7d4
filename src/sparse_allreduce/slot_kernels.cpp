#include "sparse_allreduce/slot_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/wire_pair.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::kernels {
namespace {

using detail::with_pair;

SlotHeader* header_of(const Slots& slots, int rank) {
  return reinterpret_cast<SlotHeader*>(static_cast<std::byte*>(slots.data) + rank * slots.bytes());
}
template <class Pair>
Pair* pairs_of(const Slots& slots, int rank) {
  return reinterpret_cast<Pair*>(header_of(slots, rank) + 1);
}

/// Which of `count` pairs are in a slot: numbers start, start + 1, ... modulo count, in order.
struct Window {
  index_t count;
  index_t kept;
  index_t start;
  index_t wrapped;  // pairs 0, ..., wrapped - 1 are kept, too

  Window(index_t all, index_t capacity, index_t begin)
      : count(all),
        kept(std::min(all, capacity)),
        start(all > capacity ? begin % all : 0),
        wrapped(std::max<index_t>(0, start + kept - all)) {}

  /// The place in the slot, or -1.
  index_t place(index_t i) const {
    if (i < wrapped) return i;
    return i >= start && i < start + kept ? i - start + wrapped : -1;
  }
};

template <class Pair>
void leave_out(const SlotFilling& work, index_t i, const Pair& pair) {
  using W = typename Pair::Wide;
  auto* residual = static_cast<W*>(work.residual);
  if (work.sums == nullptr) {
    residual[pair.at()] += pair.number();
  } else if constexpr (sizeof(typename Pair::Value) == 2) {
    if (*work.refused != 0) return;
    const W sum = static_cast<const W*>(work.sums->value)[i];
    residual[pair.at()] -= sum - pair.number() * static_cast<W>(work.divisor);
  }
}

}  // namespace

template <class Device>
void fill_slots(Device device, const SlotFilling& work) {
  with_pair(work.slots.types, [&](auto example) {
    using Pair = decltype(example);
    const auto* from = static_cast<const Pair*>(work.pairs);
    const index_t capacity = work.slots.capacity;
    const index_t start = first_in_slot(*work.call, capacity, work.sums != nullptr);
    *work.sent = 0;
    for (int r = 0; r < work.slots.ranks; ++r) {
      const index_t begin = work.offsets[r];
      const Window window(work.offsets[r + 1] - begin, capacity, start);
      if (r != work.own) *work.sent += window.kept;
      *header_of(work.slots, r) = {window.kept, work.bad->first};
      *work.overflow += window.count - window.kept;
      Pair* to = pairs_of<Pair>(work.slots, r);
      for_each(device, window.count, [=, &work](index_t i) {
        const index_t place = window.place(i);
        if (place >= 0) {
          to[place] = from[begin + i];
        } else {
          leave_out(work, begin + i, from[begin + i]);
        }
      });
    }
  });
}

template <class Device>
void add_slots(Device device, const Slots& from, void* sum) {
  with_pair(from.types, [&](auto example) {
    using Pair = decltype(example);
    for (int r = 0; r < from.ranks; ++r) {
      scatter_add(device, from.types, pairs_of<Pair>(from, r), header_of(from, r)->count, 0, sum);
    }
  });
}

template <class Device>
void read_headers(Device, const Slots& slots, SlotSummary* summary) {
  SlotSummary found;
  for (int r = slots.ranks - 1; r >= 0; --r) {
    const SlotHeader& header = *header_of(slots, r);
    found.pairs += header.count;
    if (header.first_bad >= 0) found = {1, r, header.first_bad, found.pairs};
  }
  *summary = found;
}

template <class Device>
void return_others(Device device, const Slots& sent, const Slots& kept, void* residual) {
  with_pair(sent.types, [&](auto example) {
    using Pair = decltype(example);
    for (int r = 0; r < sent.ranks; ++r) {
      return_others(device, sent.types, pairs_of<Pair>(sent, r), header_of(sent, r)->count,
                    pairs_of<Pair>(kept, r), header_of(kept, r)->count, residual);
    }
  });
}

template <class Device>
void join_slots(Device device, const Slots& slots, void* pairs, index_t* count) {
  with_pair(slots.types, [&](auto example) {
    using Pair = decltype(example);
    auto* to = static_cast<Pair*>(pairs);
    for (int r = 0; r < slots.ranks; ++r) {
      const Pair* from = pairs_of<Pair>(slots, r);
      const index_t present = header_of(slots, r)->count;
      for_each(device, present, [=](index_t i) { to[i] = from[i]; });
      to += present;
    }
    *count = to - static_cast<Pair*>(pairs);
  });
}

#define INSTANTIATE(Device)                                               \
  template void fill_slots(Device, const SlotFilling&);                   \
  template void add_slots(Device, const Slots&, void*);                   \
  template void read_headers(Device, const Slots&, SlotSummary*);         \
  template void return_others(Device, const Slots&, const Slots&, void*); \
  template void join_slots(Device, const Slots&, void*, index_t*);
INSTANTIATE(WEFT_THIS_DEVICE)
#undef INSTANTIATE

}  // namespace weft::kernels
