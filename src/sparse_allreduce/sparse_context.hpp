#pragma once

// What the algorithms of SparseAllreduce work with.

#include <weft/comm/comm.hpp>
#include <weft/core/buffer.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/accumulation_kernels.hpp"
#include "sparse_allreduce/call_kernels.hpp"
#include "sparse_allreduce/pair_kernels.hpp"
#include "sparse_allreduce/selection_kernels.hpp"
#include "sparse_allreduce/slot_kernels.hpp"

#include <cstddef>
#include <vector>

namespace weft::detail {

/// Memory that grows to what is asked for, without keeping its contents.
class Scratch {
 public:
  void* bytes(index_t count, Device device) {
    if (memory_.size() < count || memory_.device() != device) {
      memory_ = Buffer<std::byte>();
      memory_ = Buffer<std::byte>(count, device);
    }
    return memory_.data();
  }
  void* data() { return memory_.data(); }

 private:
  Buffer<std::byte> memory_;
};

/// Elements that kernels select, with memory for their indices and values.
struct ListMemory {
  Scratch index;
  Scratch value;
  kernels::SelectedList list;
  index_t count = 0;
  /// In calls in slots: the number of elements, in memory of the device.
  const index_t* counter = nullptr;

  kernels::Count size() const {
    return counter == nullptr ? kernels::Count(count) : kernels::Count(list.capacity, counter);
  }
};

/// Small results of kernels, in memory of the device.
struct SparseControl {
  kernels::SelectionRule rule;
  index_t count = 0;
  index_t result = 0;  // the count of run_sparse
  kernels::BadElements bad;
  double sums[2] = {0, 0};
  double threshold = 0;
  kernels::DigitSearch search;
  kernels::SelectionRule list_rule;
  kernels::CallControl call;  // of objects that exchange slots
};

struct SparseSelector;

/// What a call sees and what it leaves for the next one.
struct SparseState {
  Buffer<std::byte> residual;  // f32 or f64
  index_t calls = 0;
  /// Magnitudes from which elements are taken; negative before the first call.
  double local_threshold = -1;
  double global_threshold = -1;
  /// Region r is boundaries[r] <= index < boundaries[r + 1]; empty before the first call.
  std::vector<index_t> boundaries;
};

struct SparseContext {
  SparseContext(Comm ranks_of_calls, index_t elements, SparseOptions all_options)
      : comm(std::move(ranks_of_calls)), n(elements), options(std::move(all_options)) {}

  Comm comm;
  index_t n;
  SparseOptions options;
  kernels::PairTypes types;
  const SparseSelector* selector = nullptr;  // null if the algorithm selects nothing
  bool in_slots = false;                     // calls are exchanged in slots
  /// If in slots, the device has the number of calls and the thresholds, and the boundaries in
  /// `boundaries`. Here are the calls that the host has made, and whether there are thresholds (not
  /// negative) and regions.
  SparseState state;
  kernels::Adaptation adapt_local, adapt_global;  // at the end of the call
  index_t replayed = 0;  // calls that graphs have made since the host has made one

  // of the current call
  ConstBufferRef gradient;
  BufferRef out;  // n values for algorithms that compute all of them; may be the gradient
  index_t k = 0;
  SparseReport report;

  // memory that a call overwrites
  Buffer<std::byte> sum;  // n elements in the type of sums
  Buffer<SparseControl> control;
  Buffer<index_t> histogram;
  Buffer<index_t> offsets;     // of the parts of pairs, P + 1
  Buffer<index_t> boundaries;  // of regions, P + 1
  Scratch staged_index, staged_value, chunk_counts, chunk_bad, tallies, sampled;
  ListMemory picked;  // what this rank selected; 0 in the residual, unless it was put back
  ListMemory other;
  ListMemory touched;  // all sums, of run_sparse in slots
  Scratch pairs;       // of picked
  Scratch sorted;      // pairs by owner
  Scratch received;    // pairs of other ranks
  Scratch mine;        // pairs of the result that this rank owns
  Scratch gathered;    // pairs of the result
  Scratch sent_slots, own_slot, gathered_slots;
  Scratch indices, values;  // of the result of run_sparse
  Scratch dense_values;     // for algorithms that compute all values

  int ranks() const { return comm.size(); }
  Device device() const { return options.device; }
  index_t work_bytes() const { return size_of(types.work()); }
  double divisor() const { return options.op == ReduceOp::avg ? ranks() : 1; }
  /// Where this rank keeps what rounding takes from sums that all ranks compute.
  kernels::IndexRange own_part() const {
    return {n * comm.rank() / ranks(), n * (comm.rank() + 1) / ranks()};
  }
};

/// Where an algorithm leaves the result, which is the same on all ranks.
struct SparseOutcome {
  enum class Form {
    sums,    // context.sum, not yet divided
    pairs,   // context.gathered, divided, each index once
    values,  // context.out, divided
  };
  Form form = Form::sums;
  /// In slots, of sums: how many there may be.
  kernels::Count pairs = {};
  bool sorted = true;  // pairs
};

/// A named algorithm.
struct SparsePreset {
  const char* name;
  /// The selector unless the options name one; null if it selects nothing.
  const char* selector;
  SparseOutcome (*run)(SparseContext& context);
  /// Whether it exchanges slots if the options ask for them.
  bool has_slots;
};

/// Runs f(tag) on the device of the context.
template <class F>
void run_on(const SparseContext& context, F f) {
  dispatch(context.device(), f);
}

/// A value in memory of the device, which the host waits for.
template <class T>
T read_back(SparseContext& context, const T* from) {
  T value;
  copy_bytes(&value, Device::cpu(), from, context.device(), sizeof(T));
  if (!context.device().host_accessible()) ++context.report.host_waits;
  return value;
}

template <class T>
void write_to(const SparseContext& context, T* to, const T& value) {
  copy_bytes(to, context.device(), &value, Device::cpu(), sizeof(T));
}

/// Makes room for `count` elements.
void reserve(SparseContext& context, ListMemory& memory, index_t count);
/// Memory for the tallies of a selection.
index_t* tallies_for(SparseContext& context, index_t candidates);

}  // namespace weft::detail
