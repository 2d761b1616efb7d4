#include "sparse_allreduce/global_selection.hpp"

#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/magnitude_keys.hpp"
#include "sparse_allreduce/phase_timer.hpp"

#include <bit>
#include <cstdint>

namespace weft::detail {
namespace {

/// The highest digit of numbers with this many bits.
int highest_shift(int bits) { return (bits - 1) / kernels::digit_bits * kernels::digit_bits; }

/// Finds all digits of the element that is searched for.
kernels::DigitSearch search_digits(SparseContext& context, bool of_indices, int bits,
                                   const kernels::DigitSearch& start) {
  kernels::DigitSearch* search = &context.control.data()->search;
  write_to(context, search, start);
  const kernels::Candidates from = own_sums(context);
  const BufferRef histogram(context.histogram.data(), kernels::digit_values, context.device());
  for (int shift = highest_shift(bits); shift >= 0; shift -= kernels::digit_bits) {
    run_on(context, [&](auto tag) {
      kernels::count_digits(tag, from, own_begin(context), of_indices, shift, search,
                            context.histogram.data());
    });
    context.comm.allreduce(histogram);
    context.report.header_words +=
        2 * kernels::digit_values * (context.ranks() - 1) / context.ranks();
    run_on(context, [&](auto tag) {
      kernels::choose_digit(tag, of_indices, shift, context.histogram.data(), search);
    });
  }
  return read_back(context, search);
}

}  // namespace

kernels::SelectionRule find_global_rule(SparseContext& context, index_t k) {
  const PhaseTimer timer(context, reselect_phase);
  const int bits = context.types.work() == DType::f64 ? key_bits<double> : key_bits<float>;
  kernels::DigitSearch start;
  start.wanted = k;
  const kernels::DigitSearch found = search_digits(context, false, bits, start);
  if (found.present < found.wanted) return {};  // fewer than k sums: all of them
  kernels::SelectionRule rule = {found.prefix};
  if (found.present == found.wanted) return rule;
  // More sums have the k-th magnitude than are wanted: the last index that is taken.
  start.wanted = found.wanted;
  start.rule = rule;
  const auto index_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(context.n)));
  rule.last_index = static_cast<index_t>(search_digits(context, true, index_bits, start).prefix);
  return rule;
}

}  // namespace weft::detail
