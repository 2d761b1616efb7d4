#pragma once

// Moving sums on the CPU, for moving_sum_kernels.cpp only. Complex numbers are pairs of reals.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "kernel/non_temporal.hpp"
#include "op/convolution/moving_sum_kernels.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace weft::kernels {

template <class T, class Update>
class MovingSums {
  using R = RealOf<T>;
  static constexpr index_t reals = std::is_same_v<T, R> ? 1 : 2;
  static constexpr index_t line = line_bytes / index_t{sizeof(R)};

 public:
  MovingSums(index_t outer, index_t n, index_t inner, index_t reach, R scale, FilterInput<T> input,
             T* y, Update update)
      : outer_(outer),
        n_(n),
        inner_(inner * reals),
        reach_(reach),
        length_(2 * reach + 1),
        scale_(scale),
        input_(input),
        y_(y),
        update_(update) {
    for (index_t part = 2; part <= reach; ++part) {
      if (additions_with(part) < additions_with(part_)) part_ = part;
    }
    if constexpr (std::is_same_v<Update, Assigned<T>>) {
      plain_ = !is_nonzero(update.alpha - T{1});
      non_temporal_ = plain_ && outer * n * inner * index_t{sizeof(T)} >= non_temporal_bytes &&
                      reinterpret_cast<std::uintptr_t>(y) % sizeof(T) == 0;
    }
  }

  void run() const {
    const int threads = detail::threads_for(outer_ * n_ * inner_);
    if (inner_ <= narrow_row && (length_ - 1) * inner_ <= most_overlap) {
      run_lines(threads);
    } else {
      run_strips(threads);
    }
  }

 private:
  // Lines of at most this many neighbours are computed as one, from shorter sums in a chunk of the
  // line; chunks overlap by the reach of the sums.
  static constexpr index_t narrow_row = 16;
  static constexpr index_t block_size = 1024;
  static constexpr index_t chunk = 512;
  static constexpr index_t most_overlap = 512;
  static constexpr index_t window_size = chunk + most_overlap;
  static constexpr std::size_t max_terms = 15;
  /// Elements of sums that a strip of rows keeps in the cache, and the most elements of a row.
  static constexpr index_t strip_size = 16384;
  static constexpr index_t widest = 1024;
  static constexpr index_t least_width = 64;
  static constexpr index_t job_elements = 65536;
  static constexpr index_t prefetch = 2048 / index_t{sizeof(R)};

  /// What a sum from sums of `part` elements costs; storing and loading these counts as two.
  index_t additions_with(index_t part) const {
    const index_t terms = length_ / part + length_ % part;
    if (terms > static_cast<index_t>(max_terms) || part > static_cast<index_t>(max_terms))
      return length_;
    return part == 1 ? length_ : part + terms + 2;
  }
  const R* input() const { return reinterpret_cast<const R*>(input_.x); }

  /// Puts values for the elements from `first` on, counted in reals from the beginning of y.
  void put(const R* values, index_t count, index_t first) const {
    T* const y = y_ + first / reals;
    const T* elements = reinterpret_cast<const T*>(values);
    if (non_temporal_) return copy_non_temporal(elements, count / reals, y);
    const Update update = update_;
#pragma omp simd
    for (index_t j = 0; j < count / reals; ++j) update(elements[j], y[j]);
  }
  /// Where to compute values for these elements: in y, or in the buffer that put() reads.
  R* target(index_t first, R* buffer) const {
    return plain_ && !non_temporal_ ? reinterpret_cast<R*>(y_) + first : buffer;
  }

  void run_lines(int threads) const {
    const index_t extent = n_ * inner_;
    const index_t blocks = (extent + block_size - 1) / block_size;
    const index_t all = outer_ * blocks;
    const index_t together =
        std::clamp<index_t>(job_elements / std::min(extent, block_size), 1,
                            std::max<index_t>(1, all / (detail::many_jobs * threads)));
    detail::share_jobs((all + together - 1) / together, threads, [&](index_t job) {
      const index_t end = std::min(all, (job + 1) * together);
      for (index_t at = job * together; at < end; ++at) {
        const index_t first = at % blocks * block_size;
        run_block(at / blocks, first, std::min(first + block_size, extent));
      }
      if (non_temporal_) fence_non_temporal_stores();
    });
  }
  /// Elements [first, last) of a line.
  void run_block(index_t o, index_t first, index_t last) const {
    const index_t extent = n_ * inner_;
    const index_t near_edge = (reach_ * inner_ + line - 1) / line * line;
    const index_t edge = extent < 4 * near_edge ? extent : near_edge;
    const index_t position = o * extent + first;
    alignas(line_bytes) R values[block_size];
    R* const out = target(position, values);
    for (index_t begin = first; begin < last;) {
      const index_t boundary = begin < edge ? edge : begin < extent - edge ? extent - edge : extent;
      const index_t end = std::min({last, boundary, begin + chunk});
      run_chunk(o, begin, end - begin, out + (begin - first));
      begin = end;
    }
    if (!plain_ || non_temporal_) put(values, last - first, position);
  }
  /// Computes elements of a line that all are near its ends, or all are not.
  void run_chunk(index_t o, index_t first, index_t count, R* out) const {
    alignas(line_bytes) R sums[window_size];
    alignas(line_bytes) R copied[window_size];
    const index_t overlap = (length_ - 1) * inner_;
    const R* ahead = input() + o * n_ * inner_ + first + prefetch;
    const R* const x = window(o, first - reach_ * inner_, count + overlap, copied);
    // Sums of `part` elements first, then the sum of as many of these as fit, and of the rest.
    const R* terms[max_terms] = {};
    if (part_ > 1) {
      for (index_t t = 0; t < part_; ++t) terms[t] = x + t * inner_;
      const index_t needed = count + overlap - (part_ - 1) * inner_;
      with_terms<2>(part_, [&](auto order) {
        add_terms(order, terms, needed, R{1}, std::exchange(ahead, nullptr), sums);
      });
    }
    const R* const parts = part_ > 1 ? sums : x;
    index_t used = 0;
    index_t done = 0;
    for (; done + part_ <= length_; done += part_) terms[used++] = parts + done * inner_;
    for (; done < length_; ++done) terms[used++] = x + done * inner_;
    with_terms<2>(used, [&](auto order) { add_terms(order, terms, count, scale_, ahead, out); });
  }
  /// Calls f with the index sequence of `terms`, which is at least `least`.
  template <std::size_t least, class F>
  static void with_terms(index_t terms, F f) {
    if constexpr (least < max_terms) {
      if (terms > static_cast<index_t>(least)) return with_terms<least + 1>(terms, f);
    }
    f(std::make_index_sequence<least>{});
  }
  /// out[p] = scale (sum of term[t][p]) for p < count
  template <std::size_t... t>
  static void add_terms(std::index_sequence<t...>, const R* const* term, index_t count, R scale,
                        const R* ahead, R* out) {
    const R* const from[] = {term[t]...};
    for_each_line<line>(count, [=](index_t begin, auto n) {
      if (ahead != nullptr) __builtin_prefetch(ahead + begin);
#pragma omp simd
      for (index_t p = 0; p < n; ++p) out[begin + p] = scale * (... + from[t][begin + p]);
    });
  }
  /// Elements [first, first + count) of a line and its ghost cells, zeros beyond them: in place, or
  /// copied to the buffer.
  const R* window(index_t o, index_t first, index_t count, R* buffer) const {
    const index_t whole = n_ * inner_;
    const R* const x = input() + o * whole;
    if (first >= 0 && first + count <= whole) return x + first;
    R* next = buffer;
    const auto copy = [&](const T* memory, index_t extent, index_t begin) {
      const R* from = reinterpret_cast<const R*>(memory) + o * extent;
      const index_t low = std::max(first, begin);
      const index_t high = std::min(first + count, begin + extent);
      if (low >= high) return;
      std::fill(next, buffer + (low - first), R{});
      next = std::copy(from + (low - begin), from + (high - begin), buffer + (low - first));
    };
    copy(input_.ghosts_before, input_.before * inner_, -input_.before * inner_);
    copy(input_.x, whole, 0);
    copy(input_.ghosts_after, input_.after * inner_, whole);
    std::fill(next, buffer + count, R{});
    return buffer;
  }

  // Wider rows: a window of `length` rows consists of the end of one block of that many rows and
  // the beginning of the next. Sums to the end of a block are kept for all its rows, those from the
  // beginning grow with the window: three additions per element for any length.

  void run_strips(int threads) const {
    const index_t most = std::clamp(strip_size / length_ / 8 * 8, least_width, widest);
    const index_t strips = (inner_ + most - 1) / most;
    const index_t width = ((inner_ + strips - 1) / strips + 7) / 8 * 8;
    const index_t least_rows = 16 * length_;
    const index_t rows = std::clamp(job_elements / width, std::min(least_rows, n_), n_);
    const index_t pieces = (n_ + rows - 1) / rows;
    detail::share_jobs(outer_ * strips * pieces, threads, [&](index_t job) {
      const index_t first = job % pieces * rows;
      const index_t k = job / pieces % strips * width;
      if (k >= inner_) return;
      run_strip(job / pieces / strips, k, std::min(width, inner_ - k), first,
                std::min(first + rows, n_));
      if (non_temporal_) fence_non_temporal_stores();
    });
  }
  /// Rows [first, last) of a strip of `width` elements from k on.
  void run_strip(index_t o, index_t k, index_t width, index_t first, index_t last) const {
    alignas(line_bytes) R to_end[std::max(strip_size, (2 * max_moving_reach + 1) * least_width)];
    alignas(line_bytes) R from_begin[widest];
    alignas(line_bytes) R values[widest];
    const R scale = scale_;
    for (index_t block = first; block < last; block += length_) {
      // The windows of output rows [block, block + length) begin in the rows of this block.
      sum_to_end(o, k, width, block - reach_, to_end);
      std::fill_n(from_begin, width, R{});
      for (index_t j = 0; j < std::min(length_, last - block); ++j) {
        const index_t position = ((o * n_ + block + j) * inner_) + k;
        const R* const next = row(o, k, block - reach_ + length_ + j);
        const R* const ahead = row(o, k, block - reach_ + length_ + j + 1);
        const R* const end = to_end + j * width;
        R* const out = target(position, values);
        R* const begin = from_begin;
        for_each_line<line>(width, [=](index_t at, auto n) {
          __builtin_prefetch(ahead + at);
#pragma omp simd
          for (index_t p = 0; p < n; ++p) {
            out[at + p] = scale * (end[at + p] + begin[at + p]);
            begin[at + p] += next[at + p];
          }
        });
        if (!plain_ || non_temporal_) put(values, width, position);
      }
    }
  }
  /// to_end[j] = the sum of rows j to length - 1 of the block that begins at `first`.
  void sum_to_end(index_t o, index_t k, index_t width, index_t first, R* to_end) const {
    const R* const last = row(o, k, first + length_ - 1);
    std::copy_n(last, width, to_end + (length_ - 1) * width);
    for (index_t j = length_ - 2; j >= 0; --j) {
      const R* const x = row(o, k, first + j);
      const R* const after = to_end + (j + 1) * width;
      const R* const ahead = row(o, k, first + length_ + length_ - 2 - j);
      R* const sum = to_end + j * width;
      for_each_line<line>(width, [=](index_t at, auto n) {
        __builtin_prefetch(ahead + at);
#pragma omp simd
        for (index_t p = 0; p < n; ++p) sum[at + p] = x[at + p] + after[at + p];
      });
    }
  }
  /// Elements of a row from k on; rows beyond the ghost cells are zero.
  const R* row(index_t o, index_t k, index_t i) const {
    alignas(line_bytes) static constexpr std::array<R, static_cast<std::size_t>(widest)> zeros{};
    if (i >= 0 && i < n_) return input() + (o * n_ + i) * inner_ + k;
    if (i < -input_.before || i >= n_ + input_.after) return zeros.data();
    const bool is_before = i < 0;
    const R* ghosts =
        reinterpret_cast<const R*>(is_before ? input_.ghosts_before : input_.ghosts_after);
    const index_t extent = is_before ? input_.before : input_.after;
    return ghosts + (o * extent + (is_before ? i + extent : i - n_)) * inner_ + k;
  }

  index_t outer_;
  index_t n_;
  index_t inner_;  // in reals
  index_t reach_;
  index_t length_;
  index_t part_ = 1;  // elements of the sums that sums consist of, in lines
  R scale_;
  FilterInput<T> input_;
  T* y_;
  Update update_;
  bool plain_ = false;  // alpha = 1, beta = 0
  bool non_temporal_ = false;
};

}  // namespace weft::kernels
