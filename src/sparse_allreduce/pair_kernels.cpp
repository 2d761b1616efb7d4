// The kernels of pairs that are no plain loops, on CPUs.

#include "sparse_allreduce/pair_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/wire_pair.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

using detail::with_pair;

}  // namespace

template <class Device>
void split_cyclic(Device, PairTypes types, const void* pairs, Count count, int ranks, index_t block,
                  index_t* offsets, void* sorted) {
  const index_t present = count.now();
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    const auto* from = static_cast<const Pair*>(pairs);
    auto* to = static_cast<Pair*>(sorted);
    const auto owner = [=](index_t i) { return (from[i].at() / block) % ranks; };
    std::fill_n(offsets, ranks + 1, 0);
    for (index_t i = 0; i < present; ++i) ++offsets[owner(i) + 1];
    for (int r = 0; r < ranks; ++r) offsets[r + 1] += offsets[r];
    for (index_t i = 0; i < present; ++i) to[offsets[owner(i)]++] = from[i];
    // Each offset is now that of the next owner.
    std::copy_backward(offsets, offsets + ranks - 1, offsets + ranks);
    offsets[0] = 0;
    offsets[ranks] = present;
  });
}

template <class Device>
void sort_pairs(Device, PairTypes types, Count count, void* pairs, void* other) {
  const index_t present = count.now();
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    auto* from = static_cast<Pair*>(pairs);
    auto* to = static_cast<Pair*>(other);
    const auto before = [](const Pair& a, const Pair& b) { return a.at() < b.at(); };
    // Lists that are sorted already are common.
    if (std::is_sorted(from, from + present, before)) return;
    for (index_t width = 1; width < present; width *= 2) {
      for (index_t i = 0; i < present; i += 2 * width) {
        Pair* middle = from + std::min(present, i + width);
        Pair* end = from + std::min(present, i + 2 * width);
        std::merge(from + i, middle, middle, end, to + i, before);
      }
      std::copy_n(to, present, from);
    }
  });
}

template <class Device>
void merge_pairs(Device, PairTypes types, const SelectedList& first, index_t first_count,
                 const void* second, index_t second_count, const SelectedList& merged,
                 index_t* length) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    using W = typename Pair::Wide;
    const W* values = static_cast<const W*>(first.value);
    const auto* b = static_cast<const Pair*>(second);
    const Pair* b_end = b + second_count;
    auto* value = static_cast<W*>(merged.value);
    index_t at = 0;
    for (index_t a = 0; a < first_count || b != b_end; ++at) {
      const bool from_a = a < first_count && (b == b_end || first.index[a] <= b->at());
      const bool from_b = b != b_end && (a == first_count || b->at() <= first.index[a]);
      merged.index[at] = from_a ? first.index[a] : b->at();
      value[at] = from_a && from_b ? values[a] + b->number() : from_a ? values[a] : b->number();
      a += from_a ? 1 : 0;
      b += from_b ? 1 : 0;
    }
    *length = at;
  });
}

#define INSTANTIATE(Device)                                                                        \
  template void split_cyclic(Device, PairTypes, const void*, Count, int, index_t, index_t*,        \
                             void*);                                                               \
  template void sort_pairs(Device, PairTypes, Count, void*, void*);                                \
  template void merge_pairs(Device, PairTypes, const SelectedList&, index_t, const void*, index_t, \
                            const SelectedList&, index_t*);
INSTANTIATE(WEFT_THIS_DEVICE)
#undef INSTANTIATE

}  // namespace weft::kernels
