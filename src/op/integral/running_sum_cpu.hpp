#pragma once

// Running sums on the CPU, for running_sum_kernels.cpp only.
//
// Lines are divided into sections; a sum is that of the section so far, plus those of the sections
// before. Threads share the sections of long lines. The number of sections and the order of
// additions depend on the extents alone, so that results do not depend on the number of threads.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "kernel/non_temporal.hpp"
#include "op/integral/running_sum_lanes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace weft::kernels {

/// Lines are divided into at most this many sections, of at least this many elements.
constexpr index_t max_sections = 32;
constexpr index_t min_section = 8192;
/// Neighbouring lines that threads share in sections.
constexpr index_t narrow_strip = 64;
/// Elements per job, if there are enough jobs: each ends with a fence.
constexpr index_t job_elements = 65536;
/// Elements of a line that are computed before they are stored.
constexpr index_t line_chunk = 1024;
/// Distance of prefetches in bytes: hardware prefetchers stop at the end of a page.
constexpr index_t scan_prefetch_bytes = 2048;

/// Computes lines one after the other (`inner` = 1), or strips of neighbouring lines row by row.
template <class T, class Update>
class RunningSums {
 public:
  using Sum = SumOf<T>;
  using Lanes = ScanLanes<T>;

  RunningSums(const RunningSumPlan& plan, const T* in, const Sum* carry, T* out, Update update)
      : plan_(plan), in_(in), carry_(carry), out_(out), update_(update) {
    const index_t even = (plan.n + max_sections - 1) / max_sections;
    section_ = std::max(min_section, even);
    sections_ = (plan.n + section_ - 1) / section_;
    if constexpr (std::is_same_v<Update, Assigned<T>>) {
      const index_t bytes = plan.outer * plan.out_extent * plan.inner * index_t{sizeof(T)};
      plain_ = !is_nonzero(update.alpha - T{1});
      non_temporal_ = plain_ && bytes >= non_temporal_bytes &&
                      reinterpret_cast<std::uintptr_t>(out) % sizeof(T) == 0;
    }
  }

  void run() const {
    const int threads = detail::threads_for(plan_.outer * plan_.n * plan_.inner);
    const index_t strips = strips_for(threads);
    const index_t lines = plan_.outer * strips;
    const index_t narrow = (plan_.inner + narrow_strip - 1) / narrow_strip;
    const bool is_uneven = lines % threads != 0 && lines < detail::many_jobs * threads;
    if (is_uneven && sections_ > 1 && (plan_.inner == 1 || plan_.outer * narrow < threads)) {
      return share_sections(threads, narrow);
    }
    const index_t together =
        std::clamp<index_t>(job_elements / std::max<index_t>(1, plan_.n * plan_.inner / strips), 1,
                            std::max<index_t>(1, lines / (detail::many_jobs * threads)));
    detail::share_jobs((lines + together - 1) / together, threads, [&](index_t job) {
      const index_t end_line = std::min(lines, (job + 1) * together);
      for (index_t number = job * together; number < end_line; ++number) {
        // In reverse, memory is accessed in descending order.
        const index_t line = plan_.reverse ? lines - 1 - number : number;
        Strip strip = strip_at(line / strips, line % strips, strips);
        begin(strip);
        for (index_t s = 0; s < sections_; ++s) run_section(strip, s);
        end(strip);
      }
      if (non_temporal_) fence_non_temporal_stores();
    });
  }

 private:
  static constexpr index_t reals = Lanes::reals;
  /// The most lines in a strip: a few arrays of this size stay in the L1 cache.
  static constexpr index_t widest = line_chunk / reals;

  struct Strip {
    const T* in;  // element in_first of the first line
    T* out;
    const Sum* carry;
    index_t width;
    /// Sums of the sections before.
    std::array<Sum, static_cast<std::size_t>(widest)> before;
  };
  struct Section {
    index_t begin;
    index_t count;
  };

  index_t strips_for(int threads) const {
    const index_t least = (plan_.inner + widest - 1) / widest;
    const index_t wanted = (threads + plan_.outer - 1) / plan_.outer;
    return std::max(least, std::min(wanted, (plan_.inner + narrow_strip - 1) / narrow_strip));
  }
  Strip strip_at(index_t o, index_t number, index_t strips) const {
    const index_t first = plan_.inner * number / strips;
    Strip strip;
    strip.in = in_ + (o * plan_.in_extent + plan_.in_first) * plan_.inner + first;
    strip.out = out_ + (o * plan_.out_extent + plan_.out_first) * plan_.inner + first;
    strip.carry = carry_ != nullptr ? carry_ + o * plan_.inner + first : nullptr;
    strip.width = plan_.inner * (number + 1) / strips - first;
    return strip;
  }
  void begin(Strip& strip) const {
    const bool at_edge = plan_.edge && !plan_.reverse;
    const T* edge = strip.in - plan_.inner;
    for (index_t k = 0; k < strip.width; ++k) {
      Sum sum = strip.carry != nullptr ? strip.carry[k] : Sum{};
      if (at_edge) sum += plan_.edge_weight * Sum(edge[k]);
      strip.before[static_cast<std::size_t>(k)] = sum;
    }
    if (!at_edge || plan_.out_first == 0) return;
    for (index_t k = 0; k < strip.width; ++k) update_(T{}, (strip.out - plan_.inner)[k]);
  }
  void end(Strip& strip) const {
    if (!plan_.edge || !plan_.reverse) return;
    const double weight = plan_.scale * plan_.edge_weight;
    for (index_t k = 0; k < strip.width; ++k) {
      update_(convert_to<T>(weight * strip.before[static_cast<std::size_t>(k)]),
              (strip.out - plan_.inner)[k]);
    }
  }
  Section section(index_t number) const {
    const index_t first = number * section_;
    const index_t count = std::min(section_, plan_.n - first);
    return {plan_.reverse ? plan_.n - first - count : first, count};
  }
  /// Computes a section and adds its sums to strip.before.
  void run_section(Strip& strip, index_t number) const {
    const Section here = section(number);
    with_kind([&](auto reverse, auto halves) {
      if (plan_.inner == 1) {
        run_line<reverse, halves>(strip, here);
      } else {
        run_rows<reverse, halves>(strip, here);
      }
    });
  }
  /// Calls f(reverse, whether the element itself counts half) with compile-time constants.
  template <class F>
  void with_kind(F f) const {
    const auto with_half = [&](auto reverse) {
      plan_.halves ? f(reverse, std::true_type{}) : f(reverse, std::false_type{});
    };
    plan_.reverse ? with_half(std::true_type{}) : with_half(std::false_type{});
  }

  /// Each section is summed first, which later sections need; then all are computed.
  void share_sections(int threads, index_t strips) const {
    std::array<std::array<Sum, static_cast<std::size_t>(narrow_strip)>,
               static_cast<std::size_t>(max_sections)>
        totals;
    for (index_t line = 0; line < plan_.outer * strips; ++line) {
      Strip whole = strip_at(line / strips, line % strips, strips);
      begin(whole);
      detail::share_jobs(sections_, threads, [&](index_t s) {
        total_section(whole, section(s), totals[static_cast<std::size_t>(s)].data());
      });
      detail::share_jobs(sections_, threads, [&](index_t s) {
        Strip strip = whole;
        for (index_t earlier = 0; earlier < s; ++earlier) add(strip, totals, earlier);
        run_section(strip, s);
        if (non_temporal_) fence_non_temporal_stores();
      });
      for (index_t s = 0; s < sections_; ++s) add(whole, totals, s);
      end(whole);
    }
  }
  template <class Totals>
  static void add(Strip& strip, const Totals& totals, index_t number) {
    for (index_t k = 0; k < strip.width; ++k) {
      const auto at = static_cast<std::size_t>(k);
      strip.before[at] += totals[static_cast<std::size_t>(number)][at];
    }
  }
  /// The sums of a section alone, added in the order of run_section.
  void total_section(const Strip& whole, Section here, Sum* totals) const {
    const T* x = whole.in + here.begin * plan_.inner;
    if (plan_.inner == 1) {
      totals[0] = plan_.reverse ? Lanes::template total<true>(x, here.count)
                                : Lanes::template total<false>(x, here.count);
      return;
    }
    std::fill_n(totals, whole.width, Sum{});
    for (index_t step = 0; step < here.count; ++step) {
      const T* row = x + (plan_.reverse ? here.count - 1 - step : step) * plan_.inner;
#pragma omp simd
      for (index_t k = 0; k < whole.width; ++k) totals[k] += Sum(row[k]);
    }
  }

  /// Puts values that have been computed to `values` into y.
  void put(const T* values, index_t count, T* y) const {
    if (non_temporal_) return copy_non_temporal(values, count, y);
    const Update update = update_;
#pragma omp simd
    for (index_t j = 0; j < count; ++j) update(values[j], y[j]);
  }

  /// Row by row, so that memory is accessed in its order. Complex numbers are pairs of reals.
  template <bool reverse, bool halves>
  void run_rows(Strip& strip, Section here) const {
    using Real = RealOf<T>;
    const index_t count = strip.width * reals;
    const index_t row = reverse ? -plan_.inner : plan_.inner;
    const index_t bytes = strip.width * index_t{sizeof(T)};
    const index_t ahead = (scan_prefetch_bytes + bytes - 1) / bytes * row * reals;
    const double scale = plan_.scale;
    alignas(line_bytes) double sums[line_chunk];
    alignas(line_bytes) T values[widest];
    auto* const before = reinterpret_cast<double*>(strip.before.data());
    std::fill_n(sums, count, 0.0);
    const index_t first = here.begin + (reverse ? here.count - 1 : 0);
    const T* x = strip.in + first * plan_.inner;
    T* y = strip.out + first * plan_.inner;
    for (index_t step = 0; step < here.count; ++step, x += row, y += row) {
      const auto* from = reinterpret_cast<const Real*>(x);
      auto* const to = reinterpret_cast<Real*>(plain_ && !non_temporal_ ? y : values);
      const auto compute = [&](index_t k, auto n) {
        __builtin_prefetch(from + k + ahead);
#pragma omp simd
        for (index_t j = k; j < k + n; ++j) {
          const double value = from[j];
          const double sum = sums[j] + value;
          sums[j] = sum;
          const double total = before[j] + sum;
          to[j] = static_cast<Real>(scale * (halves ? total - 0.5 * value : total));
        }
      };
      constexpr index_t line = line_bytes / index_t{sizeof(Real)};
      if constexpr (reverse) {
        const index_t whole = count / line * line;
        if (whole < count) compute(whole, count - whole);
        for (index_t k = whole - line; k >= 0; k -= line) {
          compute(k, std::integral_constant<index_t, line>{});
        }
      } else {
        for_each_line<line>(count, compute);
      }
      if (!plain_ || non_temporal_) put(values, strip.width, y);
    }
    for (index_t j = 0; j < count; ++j) before[j] += sums[j];
  }

  template <bool reverse, bool halves>
  void run_line(Strip& strip, Section here) const {
    alignas(line_bytes) T values[line_chunk];
    typename Lanes::template Scan<reverse, halves> scan(strip.before[0], plan_.scale);
    for (index_t done = 0; done < here.count; done += line_chunk) {
      const index_t count = std::min(line_chunk, here.count - done);
      const index_t at = here.begin + (reverse ? here.count - done - count : done);
      T* const y = strip.out + at;
      scan.run(strip.in + at, count, plain_ && !non_temporal_ ? y : values);
      if (!plain_ || non_temporal_) put(values, count, y);
    }
    strip.before[0] += scan.sum();
  }

  const RunningSumPlan& plan_;
  const T* in_;
  const Sum* carry_;
  T* out_;
  Update update_;
  index_t section_;  // elements per section
  index_t sections_;
  bool plain_ = false;  // alpha = 1, beta = 0
  bool non_temporal_ = false;
};

template <class T, class Update>
void run_lines(Cpu, const RunningSumPlan& plan, const T* in, const SumOf<T>* carry, T* out,
               Update update) {
  if (plan.outer * plan.inner == 0) return;
  RunningSums<T, Update>(plan, in, carry, out, update).run();
}

}  // namespace weft::kernels
