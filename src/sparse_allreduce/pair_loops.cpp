// The kernels of pairs that are plain loops, for CPUs and GPUs.

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/counted_loops.hpp"
#include "sparse_allreduce/pair_kernels.hpp"
#include "sparse_allreduce/wire_pair.hpp"

namespace weft::kernels {
namespace {

using detail::Raw;
using detail::with_pair;
using detail::Work;

constexpr bool is_set(const index_t* flag) { return flag != nullptr && *flag != 0; }

/// x / divisor in the type of values and, of 16-bit values, what that leaves of x.
template <class T>
struct Rounded {
  using W = Work<T>;
  constexpr Rounded(W x, W divisor) : value(detail::round_to<T>(x / divisor)) {
    if constexpr (sizeof(T) == 2) rest = x - detail::widen<T>(value) * divisor;
  }
  /// Only of 16-bit values anything is left.
  constexpr void keep(IndexRange kept, index_t i, W* residual) const {
    if constexpr (sizeof(T) == 2) {
      if (i >= kept.begin && i < kept.end) residual[i] += rest;
    }
  }
  Raw<T> value;
  W rest{};
};

/// The first of sorted pairs whose index is at least `wanted`.
template <class Pair>
constexpr index_t find_pair(const Pair* pairs, index_t count, index_t wanted) {
  index_t first = 0;
  while (count > 0) {
    const index_t half = count / 2;
    const bool below = pairs[first + half].at() < wanted;
    first = below ? first + half + 1 : first;
    count = below ? count - half - 1 : half;
  }
  return first;
}

constexpr bool contains(const index_t* sorted, index_t count, index_t wanted) {
  index_t first = 0;
  index_t end = count;
  while (first < end) {
    const index_t middle = first + (end - first) / 2;
    if (sorted[middle] < wanted) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first < count && sorted[first] == wanted;
}

template <class Pair, class Device>
void pack_typed(Device device, const Packing& work) {
  using T = typename Pair::Value;
  using W = Work<T>;
  const auto* index = work.list.index;
  const auto* value = static_cast<const W*>(work.list.value);
  auto* residual = static_cast<W*>(work.residual);
  auto* pairs = static_cast<Pair*>(work.pairs);
  const auto divisor = static_cast<W>(work.divisor);
  const IndexRange kept = work.kept;
  const index_t* refused = work.refused;
  for_count(device, work.count, [=] WEFT_KERNEL(index_t i) {
    const Rounded<T> rounded(value[i], divisor);
    pairs[i].set(index[i], rounded.value);
    if (!is_set(refused)) rounded.keep(kept, index[i], residual);
  });
}

template <class Pair, class Device>
void scatter_add_typed(Device device, const Pair* from, index_t count, typename Pair::Wide* to) {
  for_each(device, count, [=] WEFT_KERNEL(index_t i) { to[from[i].at()] += from[i].number(); });
}

template <class Pair, class Device>
void split_sorted_typed(Device device, const Pair* pairs, Count count, int ranks,
                        const index_t* boundaries, index_t* offsets) {
  for_each(device, index_t{ranks} + 1, [=] WEFT_KERNEL(index_t r) {
    const bool inner = r > 0 && r < ranks;
    const index_t all = count.now();
    const index_t found = inner ? find_pair(pairs, all, boundaries[r]) : all;
    offsets[r] = r == 0 ? 0 : found;
  });
}

#if defined(__CUDACC__)

template <class Pair, class Device>
void return_others_typed(Device device, const Pair* from, Count count, const Pair* kept,
                         Count kept_count, typename Pair::Wide* to) {
  for_count(device, count, [=] WEFT_KERNEL(index_t i) {
    const index_t index = from[i].at();
    const index_t all = kept_count.now();
    const index_t found = find_pair(kept, all, index);
    if (found == all || kept[found].at() != index) to[index] += from[i].number();
  });
}

#else

/// Each thread walks along both lists: a search for every pair would take several times as long.
template <class Pair, class Device>
void return_others_typed(Device /*device*/, const Pair* from, Count count, const Pair* kept,
                         Count kept_count, typename Pair::Wide* to) {
  const index_t pairs = count.now();
  const index_t all_kept = kept_count.now();
  if (pairs == 0) return;
  detail::share_rows(1, pairs, detail::threads_for(pairs),
                     [=](index_t, index_t begin, index_t end) {
                       index_t next = find_pair(kept, all_kept, from[begin].at());
                       for (index_t i = begin; i < end; ++i) {
                         const index_t index = from[i].at();
                         while (next < all_kept && kept[next].at() < index) ++next;
                         if (next == all_kept || kept[next].at() != index)
                           to[index] += from[i].number();
                       }
                     });
}

#endif

template <class Pair, class Device>
void unpack_typed(Device device, const Pair* from, index_t count, const SelectedList& list) {
  auto* index = list.index;
  auto* value = static_cast<typename Pair::Wide*>(list.value);
  for_each(device, count, [=] WEFT_KERNEL(index_t i) {
    index[i] = from[i].at();
    value[i] = from[i].number();
  });
}

template <class Pair, class Device>
void separate_typed(Device device, const Pair* from, Count count, typename Pair::Index* index,
                    Raw<typename Pair::Value>* value) {
  for_count(device, count, [=] WEFT_KERNEL(index_t i) {
    index[i] = from[i].index;
    value[i] = from[i].value;
  });
}

template <class Pair, class Device>
void store_pairs_typed(Device device, const Pair* from, Count count,
                       Raw<typename Pair::Value>* to) {
  for_count(device, count, [=] WEFT_KERNEL(index_t i) { to[from[i].at()] = from[i].value; });
}

template <class T, class Device>
void store_sums_typed(Device device, index_t n, const Work<T>* from, Work<T> divisor,
                      IndexRange kept, Work<T>* residual, Raw<T>* to, const index_t* refused) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    const bool applied = !is_set(refused);
    const Work<T> sum = applied ? from[i] + Work<T>{} : Work<T>{};  // -0 marks sums of nothing
    const Rounded<T> rounded(sum, divisor);
    to[i] = rounded.value;
    if (applied) rounded.keep(kept, i, residual);
  });
}

template <class T, class Device>
void widen_typed(Device device, index_t n, const Raw<T>* from, Work<T>* to) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { to[i] = detail::widen<T>(from[i]); });
}

template <class T, class Device>
void fill(Device device, index_t n, T value, void* values) {
  auto* to = static_cast<T*>(values);
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { to[i] = value; });
}

template <class W, class Device>
void fill_unless(Device device, index_t n, const index_t* flag, W* to) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { to[i] = *flag != 0 ? to[i] : W{}; });
}

template <class W, class Device>
void clear_range(Device device, index_t n, const index_t* range, W* sums) {
#if defined(__CUDACC__)
  for_each(device, n, [=] WEFT_KERNEL(index_t i) {
    if (i < range[1] - range[0]) sums[range[0] + i] = -W{};
  });
#else
  static_cast<void>(n);
  W* first = sums + range[0];
  for_each(device, range[1] - range[0], [=](index_t i) { first[i] = -W{}; });
#endif
}

template <class W, class Device>
void add_dropped_typed(Device device, const SelectedList& list, index_t count,
                       const SelectedList& kept, index_t kept_count, W* to) {
  const index_t* index = list.index;
  const W* value = static_cast<const W*>(list.value);
  const index_t* sorted = kept.index;
  for_each(device, count, [=] WEFT_KERNEL(index_t i) {
    if (!contains(sorted, kept_count, index[i])) to[index[i]] += value[i];
  });
}

template <class Pair, class Device>
void index_quantiles_typed(Device device, const Pair* from, Count count, index_t n, int ranks,
                           index_t* quantiles) {
  for_each(device, index_t{ranks} - 1, [=] WEFT_KERNEL(index_t r) {
    const index_t all = count.now();
    quantiles[r] = all < ranks ? n / ranks * (r + 1) : from[all / ranks * (r + 1)].at();
  });
}

}  // namespace

template <class Device>
void pack(Device device, const Packing& work) {
  with_pair(work.types, [&](auto pair) { pack_typed<decltype(pair)>(device, work); });
}

template <class Device>
void scatter_add(Device device, PairTypes types, const void* pairs, index_t count, index_t base,
                 void* sum) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    scatter_add_typed(device, static_cast<const Pair*>(pairs), count,
                      static_cast<typename Pair::Wide*>(sum) - base);
  });
}

template <class Device>
void split_sorted(Device device, PairTypes types, const void* pairs, Count count, int ranks,
                  const index_t* boundaries, index_t* offsets) {
  with_pair(types, [&](auto pair) {
    split_sorted_typed(device, static_cast<const decltype(pair)*>(pairs), count, ranks, boundaries,
                       offsets);
  });
}

template <class Device>
void return_others(Device device, PairTypes types, const void* pairs, Count count, const void* kept,
                   Count kept_count, void* residual) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    return_others_typed(device, static_cast<const Pair*>(pairs), count,
                        static_cast<const Pair*>(kept), kept_count,
                        static_cast<typename Pair::Wide*>(residual));
  });
}

template <class Device>
void unpack(Device device, PairTypes types, const void* pairs, index_t count,
            const SelectedList& list) {
  with_pair(types, [&](auto pair) {
    unpack_typed(device, static_cast<const decltype(pair)*>(pairs), count, list);
  });
}

template <class Device>
void separate(Device device, PairTypes types, const void* pairs, Count count, void* indices,
              void* values) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    separate_typed(device, static_cast<const Pair*>(pairs), count,
                   static_cast<typename Pair::Index*>(indices),
                   static_cast<Raw<typename Pair::Value>*>(values));
  });
}

template <class Device>
void store_pairs(Device device, PairTypes types, const void* pairs, Count count, void* result) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    store_pairs_typed(device, static_cast<const Pair*>(pairs), count,
                      static_cast<Raw<typename Pair::Value>*>(result));
  });
}

template <class Device>
void store_sums(Device device, PairTypes types, index_t n, const void* sum, double divisor,
                IndexRange kept, void* residual, void* result, const index_t* refused) {
  with_pair(types, [&](auto pair) {
    using T = typename decltype(pair)::Value;
    using W = Work<T>;
    store_sums_typed<T>(device, n, static_cast<const W*>(sum), static_cast<W>(divisor), kept,
                        static_cast<W*>(residual), static_cast<Raw<T>*>(result), refused);
  });
}

template <class Device>
void widen_values(Device device, DType dtype, index_t n, const void* values, void* wide) {
  with_pair({dtype, false}, [&](auto pair) {
    using T = typename decltype(pair)::Value;
    widen_typed<T>(device, n, static_cast<const Raw<T>*>(values), static_cast<Work<T>*>(wide));
  });
}

template <class Device>
void clear_sums(Device device, DType work, index_t n, void* sums) {
  if (work == DType::f64) {
    fill(device, n, -0.0, sums);
  } else {
    fill(device, n, -0.0F, sums);
  }
}

template <class Device>
void clear_own_sums(Device device, DType work, index_t n, const index_t* range, void* sums) {
  if (work == DType::f64) {
    clear_range(device, n, range, static_cast<double*>(sums));
  } else {
    clear_range(device, n, range, static_cast<float*>(sums));
  }
}

template <class Device>
void clear(Device device, DType dtype, index_t n, void* values) {
  switch (size_of(dtype)) {
    case 2: return fill(device, n, std::uint16_t{0}, values);
    case 4: return fill(device, n, std::uint32_t{0}, values);
    default: return fill(device, n, std::uint64_t{0}, values);
  }
}

template <class Device>
void clear_unless(Device device, DType dtype, index_t n, const index_t* flag, void* values) {
  if (dtype == DType::f64) {
    fill_unless(device, n, flag, static_cast<double*>(values));
  } else {
    fill_unless(device, n, flag, static_cast<float*>(values));
  }
}

template <class Device>
void add_dropped(Device device, DType work, const SelectedList& list, index_t count,
                 const SelectedList& kept, index_t kept_count, void* residual) {
  if (work == DType::f64) {
    add_dropped_typed(device, list, count, kept, kept_count, static_cast<double*>(residual));
  } else {
    add_dropped_typed(device, list, count, kept, kept_count, static_cast<float*>(residual));
  }
}

template <class Device>
void index_quantiles(Device device, PairTypes types, const void* pairs, Count count, index_t n,
                     int ranks, index_t* quantiles) {
  with_pair(types, [&](auto pair) {
    index_quantiles_typed(device, static_cast<const decltype(pair)*>(pairs), count, n, ranks,
                          quantiles);
  });
}

#define INSTANTIATE(Device)                                                                      \
  template void pack(Device, const Packing&);                                                    \
  template void scatter_add(Device, PairTypes, const void*, index_t, index_t, void*);            \
  template void split_sorted(Device, PairTypes, const void*, Count, int, const index_t*,         \
                             index_t*);                                                          \
  template void return_others(Device, PairTypes, const void*, Count, const void*, Count, void*); \
  template void unpack(Device, PairTypes, const void*, index_t, const SelectedList&);            \
  template void separate(Device, PairTypes, const void*, Count, void*, void*);                   \
  template void store_pairs(Device, PairTypes, const void*, Count, void*);                       \
  template void store_sums(Device, PairTypes, index_t, const void*, double, IndexRange, void*,   \
                           void*, const index_t*);                                               \
  template void widen_values(Device, DType, index_t, const void*, void*);                        \
  template void clear(Device, DType, index_t, void*);                                            \
  template void clear_unless(Device, DType, index_t, const index_t*, void*);                     \
  template void clear_sums(Device, DType, index_t, void*);                                       \
  template void clear_own_sums(Device, DType, index_t, const index_t*, void*);                   \
  template void add_dropped(Device, DType, const SelectedList&, index_t, const SelectedList&,    \
                            index_t, void*);                                                     \
  template void index_quantiles(Device, PairTypes, const void*, Count, index_t, int, index_t*);
INSTANTIATE(WEFT_THIS_DEVICE)
#undef INSTANTIATE

}  // namespace weft::kernels
