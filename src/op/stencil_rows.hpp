#pragma once

// Stencils on the CPU, row by row; for stencil_kernels.cpp only.

#include <weft/core/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil_math.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace weft::kernels {

/// Calls run(count) with a constant for the numbers of taps that are common, and 0 for others.
template <class F>
void with_taps(int taps, F run) {
  switch (taps) {
    case 2: return run(std::integral_constant<int, 2>{});
    case 3: return run(std::integral_constant<int, 3>{});
    case 4: return run(std::integral_constant<int, 4>{});
    case 5: return run(std::integral_constant<int, 5>{});
    case 6: return run(std::integral_constant<int, 6>{});
    case 7: return run(std::integral_constant<int, 7>{});
    case 8: return run(std::integral_constant<int, 8>{});
    default: return run(std::integral_constant<int, 0>{});
  }
}

/// Pointers to elements of the inputs, and what they are multiplied by.
template <class T>
struct Taps {
  int count = 0;
  int across = 0;
  const T* from[StencilPlan<T>::max_taps];
  RealOf<T> weight[StencilPlan<T>::max_taps];
  // The last element of each input, to be fetched ahead.
  int leads = 0;
  const T* lead[max_dims];

  void add(const T* data, RealOf<T> factor) {
    from[count] = data;
    weight[count++] = factor;
  }
  /// Adds the factor to one that the element has already.
  void merge(const T* data, RealOf<T> factor) {
    for (int t = 0; t < count; ++t) {
      if (from[t] == data) {
        weight[t] += factor;
        return;
      }
    }
    add(data, factor);
  }
};

template <class T, class Put, std::size_t... t>
void combine(std::index_sequence<t...>, const Taps<T>& taps, index_t begin, index_t end, T* y,
             Put put) {
  const T* const from[] = {taps.from[t]...};
  const RealOf<T> weight[] = {taps.weight[t]...};
#pragma omp simd
  for (index_t k = begin; k < end; ++k) put((... + (weight[t] * from[t][k])), y[k]);
}

/// Any number of taps, one after the other in a piece of a row that stays in the cache.
template <class T, class Put>
void combine(std::index_sequence<>, const Taps<T>& taps, index_t begin, index_t end, T* y,
             Put put) {
  constexpr index_t piece = 256;
  T sums[piece];
  for (index_t first = begin; first < end; first += piece) {
    const index_t n = std::min(piece, end - first);
    std::fill_n(sums, n, T{});
    for (int t = 0; t < taps.count; ++t) {
      const T* from = taps.from[t] + first;
      const RealOf<T> weight = taps.weight[t];
#pragma omp simd
      for (index_t k = 0; k < n; ++k) sums[k] += weight * from[k];
    }
#pragma omp simd
    for (index_t k = 0; k < n; ++k) put(sums[k], y[first + k]);
  }
}

/// Bytes of an output from which on it is written past the caches, as memcpy does: they could not
/// keep it, and would fetch from memory what is to be overwritten.
constexpr index_t streamed_bytes = 16 << 20;

/// How far ahead an input is fetched into the cache. The processor does that by itself, but only
/// up to the end of a page.
constexpr index_t fetched_bytes = 2048;

/// Elements of a tile along the last axis, and of all its axes but the first: few enough for what
/// one plane across the first axis shares with the next to be in the cache still.
constexpr index_t row_size = 2048;
constexpr index_t plane_size = 32768;

/// How many elements further a place is than the beginning of its line of the cache.
template <class T>
index_t beyond_line(const T* y) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(y) % 64 / sizeof(T));
}

#if defined(__AVX__)

/// The same, with whole lines of the cache written past it. Complex elements are pairs of reals,
/// as weights are real.
template <class T, std::size_t... t>
void combine_past_cache(std::index_sequence<t...>, const Taps<T>& taps, index_t begin, index_t end,
                        T* y) {
  using Real = RealOf<T>;
  using Lanes [[gnu::vector_size(32)]] = Real;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(Real))]] = Real;
  constexpr index_t reals = std::is_same_v<T, Real> ? 1 : 2;
  constexpr index_t width = sizeof(Lanes) / sizeof(Real);
  constexpr index_t line = 64 / sizeof(Real);
  const Real* const from[] = {reinterpret_cast<const Real*>(taps.from[t])...};
  const Real weight[] = {taps.weight[t]...};
  auto* out = reinterpret_cast<Real*>(y);
  const auto lanes = [&](index_t k) {
    const Lanes sum = (... + (weight[t] * *reinterpret_cast<const Unaligned*>(from[t] + k)));
    return reinterpret_cast<__m256i>(sum);
  };
  index_t k = begin * reals;
  const index_t aligned = std::min(end * reals, k + (line - beyond_line(out + k)) % line);
  for (; k < aligned; ++k) out[k] = (... + (weight[t] * from[t][k]));
  for (; k + line <= end * reals; k += line) {
    for (int l = 0; l < taps.leads; ++l) {
      __builtin_prefetch(reinterpret_cast<const char*>(taps.lead[l]) + k * index_t{sizeof(Real)} +
                         fetched_bytes);
    }
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + k), lanes(k));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + k + width), lanes(k + width));
  }
  for (; k < end * reals; ++k) out[k] = (... + (weight[t] * from[t][k]));
}

/// y[k] = values[k], with whole lines written past the cache.
template <class T>
void copy_past_cache(const T* values, index_t n, T* y) {
  constexpr index_t width = 64 / sizeof(T);
  const index_t aligned = std::min(n, (width - beyond_line(y)) % width);
  index_t k = 0;
  for (; k < aligned; ++k) y[k] = values[k];
  for (; k + width <= n; k += width) {
    const auto* from = reinterpret_cast<const __m256i*>(values + k);
    auto* to = reinterpret_cast<__m256i*>(y + k);
    _mm256_stream_si256(to, _mm256_loadu_si256(from));
    _mm256_stream_si256(to + 1, _mm256_loadu_si256(from + 1));
  }
  for (; k < n; ++k) y[k] = values[k];
}

inline void end_streams() { _mm_sfence(); }

#else

template <class T, std::size_t... t>
void combine_past_cache(std::index_sequence<t...> order, const Taps<T>& taps, index_t begin,
                        index_t end, T* y) {
  combine(order, taps, begin, end, y, Assigned<T>{T{1}});
}
template <class T>
void copy_past_cache(const T* values, index_t n, T* y) {
  std::copy_n(values, n, y);
}
inline void end_streams() {}

#endif

/// The rows of a tile along the last axis, one after the other.
template <class T, class Put>
class RowLoop {
 public:
  RowLoop(const StencilPlan<T>& plan, const StencilBox& tile, Put put)
      : plan_(plan),
        tile_(tile),
        put_(put),
        last_(plan.axes - 1),
        first_(tile.begin[last_]),
        length_(tile.end[last_] - first_),
        core_begin_(std::clamp<index_t>(plan.core_begin[last_] - first_, 0, length_)),
        core_end_(std::clamp(plan.core_end[last_] - first_, core_begin_, length_)) {
    std::copy_n(tile.begin, plan.axes, at_);
    if constexpr (std::is_same_v<Put, Assigned<T>>) {
      const index_t bytes = plan.extents[0] * plan.strides[0] * index_t{sizeof(T)};
      past_cache_ = bytes >= streamed_bytes && !is_nonzero(put.alpha - T{1});
    }
    for (int t = 0; t < plan.outputs * plan.taps; ++t) leads_[t] = is_lead(t);
  }

  void run() {
    alignas(64) T values[row_size];
    do {
      const bool in_core = find_row();
      for (int output = 0; output < plan_.outputs; ++output) {
        Taps<T> taps;
        if (in_core) {
          take_core_taps(output, taps);
        } else {
          find_taps(output, taps);
        }
        T* y = plan_.y[output] + row_;
        if (past_cache_) {
          put_past_cache(output, taps, values, y);
        } else {
          put_row(output, taps, y);
        }
      }
    } while (advance());
    if (past_cache_) end_streams();
  }

 private:
  /// No other tap of the same output is further ahead in the same input.
  bool is_lead(int tap) const {
    const StencilTap<T>* const first = plan_.tap + tap / plan_.taps * plan_.taps;
    const StencilTap<T>& mine = plan_.tap[tap];
    return std::none_of(first, first + plan_.taps, [&](const StencilTap<T>& other) {
      return other.input == mine.input &&
             (other.shift > mine.shift || (other.shift == mine.shift && &other > &mine));
    });
  }
  /// Where the row begins, and whether it runs through the core.
  bool find_row() {
    row_ = first_;
    bool in_core = true;
    for (int axis = 0; axis < last_; ++axis) {
      row_ += at_[axis] * plan_.strides[axis];
      in_core = in_core && at_[axis] >= plan_.core_begin[axis] && at_[axis] < plan_.core_end[axis];
    }
    return in_core;
  }
  void put_row(int output, const Taps<T>& taps, T* y) const {
    with_taps(taps.count, [&](auto count) {
      combine(std::make_index_sequence<count>{}, taps, core_begin_, core_end_, y, put_);
    });
    put_points(output, taps, 0, core_begin_, y);
    put_points(output, taps, core_end_, length_, y);
  }
  /// Lines of the cache that are in the core are written from registers. Those at the ends of the
  /// row are put together in `values` before: a line that is written in part would be read first.
  void put_past_cache(int output, const Taps<T>& taps, T* values, T* y) const {
    with_taps(taps.count, [&](auto count) {
      constexpr auto order = std::make_index_sequence<count>{};
      index_t lines_begin = core_end_;
      index_t lines_end = core_end_;
      if constexpr (count > 0) {
        constexpr index_t line = 64 / sizeof(T);
        lines_begin =
            std::min(core_end_, core_begin_ + (line - beyond_line(y + core_begin_)) % line);
        lines_end = std::max(lines_begin, core_end_ - beyond_line(y + core_end_));
        combine_past_cache(order, taps, lines_begin, lines_end, y);
      }
      combine(order, taps, core_begin_, lines_begin, values, put_);
      combine(order, taps, lines_end, core_end_, values, put_);
      put_points(output, taps, 0, core_begin_, values);
      put_points(output, taps, core_end_, length_, values);
      copy_past_cache(values, lines_begin, y);
      copy_past_cache(values + lines_end, length_ - lines_end, y + lines_end);
    });
  }
  void take_core_taps(int output, Taps<T>& taps) const {
    for (int t = output * plan_.taps; t < (output + 1) * plan_.taps; ++t) {
      const StencilTap<T>& tap = plan_.tap[t];
      taps.add(tap.from + row_, tap.weight);
      if (leads_[t]) taps.lead[taps.leads++] = tap.from + row_;
    }
    taps.across = plan_.across[output];
  }
  /// Of a row near an edge: in the same order, so that a cut across rows does not change a bit.
  void find_taps(int output, Taps<T>& taps) const {
    for (int t = 0; t < plan_.terms; ++t) {
      const StencilTerm<T>& term = plan_.term[t];
      if (term.output != output || term.axis == last_) continue;
      const RealOf<T>* weights = row_at(term, at_[term.axis]);
      for (int d = -stencil_reach; d <= stencil_reach; ++d) {
        const RealOf<T> weight = weights[d + stencil_reach];
        if (weight != 0) taps.merge(neighbour(plan_, term, row_, at_[term.axis], d), weight);
      }
    }
    taps.across = taps.count;
    for (int t = output * plan_.taps + plan_.across[output]; t < (output + 1) * plan_.taps; ++t) {
      const StencilTap<T>& tap = plan_.tap[t];
      taps.add(tap.from + row_, tap.weight);
    }
  }
  /// Points outside of the core.
  void put_points(int output, const Taps<T>& taps, index_t begin, index_t end, T* y) const {
    for (index_t k = begin; k < end; ++k) {
      T sum{};
      for (int t = 0; t < taps.across; ++t) sum += taps.weight[t] * taps.from[t][k];
      for (int t = plan_.terms - 1; t >= 0 && plan_.term[t].axis == last_; --t) {
        const StencilTerm<T>& term = plan_.term[t];
        if (term.output == output) add_term(plan_, term, row_ + k, first_ + k, sum);
      }
      put_(sum, y[k]);
    }
  }
  bool advance() {
    for (int axis = last_ - 1; axis >= 0; --axis) {
      if (++at_[axis] < tile_.end[axis]) return true;
      at_[axis] = tile_.begin[axis];
    }
    return false;
  }

  const StencilPlan<T>& plan_;
  const StencilBox& tile_;
  Put put_;
  int last_;
  index_t first_;
  index_t length_;
  index_t core_begin_;  // of a row, relative to first_
  index_t core_end_;
  bool past_cache_ = false;
  bool leads_[StencilPlan<T>::max_taps];
  index_t at_[max_dims];
  index_t row_ = 0;
};

template <class T, class Put>
void apply(Cpu, const StencilPlan<T>& plan, const StencilBox& box, Put put) {
  const int last = plan.axes - 1;
  index_t count = 1;
  for (int axis = 0; axis <= last; ++axis) count *= box.end[axis] - box.begin[axis];
  const int threads = detail::threads_for(count);
  index_t tile[max_dims];
  index_t tiles = 1;
  index_t size = 1;
  for (int axis = last; axis >= 0; --axis) {
    const index_t extent = box.end[axis] - box.begin[axis];
    const index_t limit = axis == last ? row_size
                          : axis > 0   ? std::max<index_t>(1, plane_size / size)
                                       : (extent + threads - 1) / threads;
    tile[axis] = std::min(extent, limit);
    size *= tile[axis];
    tiles *= (extent + tile[axis] - 1) / tile[axis];
  }
  detail::share_jobs(tiles, threads, [&](index_t job) {
    StencilBox mine;
    index_t rest = job;
    for (int axis = last; axis >= 0; --axis) {
      const index_t along = (box.end[axis] - box.begin[axis] + tile[axis] - 1) / tile[axis];
      mine.begin[axis] = box.begin[axis] + rest % along * tile[axis];
      mine.end[axis] = std::min(box.end[axis], mine.begin[axis] + tile[axis]);
      rest /= along;
    }
    RowLoop<T, Put>(plan, mine, put).run();
  });
}

}  // namespace weft::kernels
