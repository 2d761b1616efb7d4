#include "sparse_allreduce/global_selection.hpp"

#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/magnitude_keys.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/slots.hpp"

#include <bit>
#include <cstdint>

namespace weft::detail {
namespace {

/// The highest digit of numbers with this many bits.
int highest_shift(int bits) { return (bits - 1) / kernels::digit_bits * kernels::digit_bits; }

/// Finds all digits of the element that is searched for among the own sums of all ranks.
void search_digits(SparseContext& context, const kernels::Candidates& from, index_t base,
                   bool of_indices, int bits) {
  kernels::DigitSearch* search = &context.control.data()->search;
  const BufferRef histogram(context.histogram.data(), kernels::digit_values, context.device());
  for (int shift = highest_shift(bits); shift >= 0; shift -= kernels::digit_bits) {
    run_on(context, [&](auto tag) {
      kernels::count_digits(tag, from, base, of_indices, shift, search, context.histogram.data());
    });
    context.comm.allreduce(histogram);
    context.report.header_words +=
        2 * kernels::digit_values * (context.ranks() - 1) / context.ranks();
    run_on(context, [&](auto tag) {
      kernels::choose_digit(tag, of_indices, shift, context.histogram.data(), search);
    });
  }
}

/// Reads what a search from `start` on has found.
kernels::DigitSearch search_from(SparseContext& context, bool of_indices, int bits,
                                 const kernels::DigitSearch& start) {
  kernels::DigitSearch* search = &context.control.data()->search;
  write_to(context, search, start);
  search_digits(context, own_sums(context), own_begin(context), of_indices, bits);
  return read_back(context, search);
}

int bits_of_keys(const SparseContext& context) {
  return context.types.work() == DType::f64 ? key_bits<double> : key_bits<float>;
}
int bits_of_indices(const SparseContext& context) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(context.n)));
}

}  // namespace

kernels::SelectionRule find_global_rule(SparseContext& context, index_t k) {
  const PhaseTimer timer(context, reselect_phase);
  kernels::DigitSearch start;
  start.wanted = k;
  const kernels::DigitSearch found = search_from(context, false, bits_of_keys(context), start);
  if (found.present < found.wanted) return {};  // fewer than k sums: all of them
  kernels::SelectionRule rule = {found.prefix};
  if (found.present == found.wanted) return rule;
  // More sums have the k-th magnitude than are wanted: the last index that is taken.
  start.wanted = found.wanted;
  start.rule = rule;
  rule.last_index =
      static_cast<index_t>(search_from(context, true, bits_of_indices(context), start).prefix);
  return rule;
}

void find_global_rule_in_slots(SparseContext& context) {
  const PhaseTimer timer(context, reselect_phase);
  SparseControl* control = context.control.data();
  const kernels::Candidates from = sums_in_slots(context, true);
  run_on(context, [&](auto tag) { kernels::search_keys(tag, context.k, &control->search); });
  search_digits(context, from, 0, false, bits_of_keys(context));
  // The host does not know whether there are more sums of the k-th magnitude than are wanted.
  run_on(context,
         [&](auto tag) { kernels::search_indices(tag, &control->search, &control->call); });
  search_digits(context, from, 0, true, bits_of_indices(context));
  run_on(context, [&](auto tag) {
    kernels::finish_search(tag, context.types.work(), &control->search, &control->call,
                           &control->rule);
  });
}

}  // namespace weft::detail
