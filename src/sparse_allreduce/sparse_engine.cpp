#include "sparse_allreduce/sparse_engine.hpp"

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>

#include "core/hash.hpp"
#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

namespace weft::detail {
namespace {

/// The text of the error that f throws, or an empty one.
std::string failure_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void agree_on_success(const Comm& comm, const std::function<void()>& f) {
  comm.agree(failure_of(f));
}

std::string describe_sparse(index_t n, const SparseOptions& o) {
  return fmt::format("SparseAllreduce of {} elements of type {} on a {}, {}, density {}", n,
                     o.dtype, to_string(o.device.kind), o.algorithm, o.density);
}

std::uint64_t hash_of(index_t n, const SparseOptions& o) {
  const OktopkConstants& c = o.oktopk;
  Hash hash;
  hash.add(n).add(o.algorithm).add(o.selector);
  for (const double x :
       {o.density, o.decay, c.raise_above, c.raise_factor, c.local_low, c.local_high,
        c.local_factor, c.global_low, c.global_high, c.global_down, c.global_up, c.imbalance,
        o.costs.message, o.costs.byte, o.costs.selected_byte}) {
    hash.add(std::bit_cast<std::uint64_t>(x));
  }
  for (const index_t x : {o.chunk, o.capacity, o.check_every, o.dense_calls, c.local_period,
                          c.global_period, c.region_period, c.block}) {
    hash.add(x);
  }
  for (const int x : {static_cast<int>(o.dtype), static_cast<int>(o.device.kind),
                      static_cast<int>(o.op), static_cast<int>(o.exchange),
                      static_cast<int>(o.error_feedback), o.index_bits, static_cast<int>(o.gtopk),
                      c.raise_steps, static_cast<int>(c.partition), static_cast<int>(c.balance)}) {
    hash.add(x);
  }
  return hash.value();
}

/// Of what all ranks of a state have in common.
std::uint64_t hash_of_common(const SparseState& state) {
  Hash hash;
  hash.add(state.calls).add(std::bit_cast<std::uint64_t>(state.global_threshold));
  for (const index_t boundary : state.boundaries) hash.add(boundary);
  return hash.value();
}

bool overlap(ConstBufferRef a, ConstBufferRef b) {
  const auto* x = static_cast<const std::byte*>(a.data);
  const auto* y = static_cast<const std::byte*>(b.data);
  return x < y + b.bytes() && y < x + a.bytes();
}

void check_tensor(const SparseContext& context, const char* call, const char* name,
                  ConstBufferRef tensor) {
  require(tensor.count == context.n,
          "SparseAllreduce::{}: {} has {} elements, but the object is for {}", call, name,
          tensor.count, context.n);
  require(tensor.dtype == context.types.value,
          "SparseAllreduce::{}: {} has type {}, but the object is for {}", call, name, tensor.dtype,
          context.types.value);
  require(tensor.where == context.device(),
          "SparseAllreduce::{}: {} is on {}, but the object is on {}", call, name, tensor.where,
          context.device());
}

}  // namespace

SparseEngine::SparseEngine(const Comm& comm, index_t n, const SparseOptions& options)
    : context_(comm, n, options) {
  agree_on_success(comm, [&] { check_sparse_options(n, options); });
  comm.agree_on(hash_of(n, options), [&] { return describe_sparse(n, options); });
  context_.types = pair_types(n, options);
  const SparsePreset& preset = find_preset(options.algorithm);
  if (preset.selector != nullptr) {
    context_.selector =
        &find_selector(options.selector.empty() ? preset.selector : options.selector);
  }
  context_.in_slots = preset.has_slots && options.exchange == SparseExchange::slots;
  agree_on_success(comm, [&] { allocate(context_); });
}

void SparseEngine::agree_on_call(const char* call, ConstBufferRef gradient,
                                 const BufferRef* result) const {
  context_.comm.agree(failure_of([&] {
    if (is_captured(context_.device()))
      refuse_capture(call, result == nullptr ? sparse_prepared_ : run_prepared_);
    check_tensor(context_, call, "gradient", gradient);
    if (result == nullptr) return;
    check_tensor(context_, call, "result", *result);
    require(result->data == gradient.data || !overlap(*result, gradient),
            "SparseAllreduce::{}: gradient and result overlap; they must be disjoint, or the same "
            "memory",
            call);
  }));
}

SparseOutcome SparseEngine::reduce(ConstBufferRef gradient, BufferRef out) {
  SparseContext& c = context_;
  c.report = {};
  prepare_call();
  const bool dense = c.state.calls < c.options.dense_calls;
  const SparsePreset& preset = find_preset(dense ? "dense" : c.options.algorithm);
  c.gradient = gradient;
  c.out = out;
  c.k = selected_elements(c.n, c.options.density);
  c.report.algorithm = preset.name;
  c.report.call = c.state.calls;
  c.report.k = c.k;
  if (!c.in_slots) return preset.run(c);
  begin_slots(c);
  const SparseOutcome outcome = preset.run(c);
  end_slots(c, outcome.pairs);
  result_on_device_ = outcome.form == SparseOutcome::Form::pairs;
  return outcome;
}

void SparseEngine::make_dense(const SparseOutcome& outcome, BufferRef out) {
  SparseContext& c = context_;
  const PhaseTimer timer(c, scatter_phase);
  c.report.result = outcome.pairs.most;
  switch (outcome.form) {
    case SparseOutcome::Form::values: c.report.result = c.n; return;
    case SparseOutcome::Form::sums:
      c.report.result = c.n;
      run_on(c, [&](auto tag) {
        kernels::store_sums(tag, c.types, c.n, c.sum.data(), c.divisor(), c.own_part(),
                            c.state.residual.data(), out.data,
                            c.in_slots ? refused_in_slots(c) : nullptr);
      });
      return;
    case SparseOutcome::Form::pairs:
      run_on(c, [&](auto tag) {
        kernels::clear(tag, c.types.value, c.n, out.data);
        kernels::store_pairs(tag, c.types, c.gathered.data(), shown(outcome), out.data);
      });
  }
}

/// The pairs of the result; none if a call in slots is refused.
kernels::Count SparseEngine::shown(const SparseOutcome& outcome) const {
  if (!context_.in_slots) return outcome.pairs;
  return {outcome.pairs.most, &context_.control.data()->call.shown};
}

void SparseEngine::run(ConstBufferRef gradient, BufferRef result) {
  agree_on_call("run", gradient, &result);
  const SparseOutcome outcome = reduce(gradient, result);
  refuse_at_once();
  make_dense(outcome, result);
  finish_call(run_prepared_);
}

/// Sorted pairs of the result, in context.sorted.
kernels::Count SparseEngine::list_result(const SparseOutcome& outcome) {
  SparseContext& c = context_;
  if (outcome.form == SparseOutcome::Form::pairs) {
    const index_t bytes = outcome.pairs.most * c.types.bytes();
    void* copy = c.sorted.bytes(bytes, c.device());
    copy_bytes(copy, c.device(), c.gathered.data(), c.device(), static_cast<std::size_t>(bytes));
    if (!outcome.sorted) {
      void* room = c.received.bytes(bytes, c.device());
      run_on(c, [&](auto tag) { kernels::sort_pairs(tag, c.types, outcome.pairs, copy, room); });
    }
    return shown(outcome);
  }
  if (outcome.pairs.most > 0) {
    result_on_device_ = true;
    return list_touched_in_slots(c, outcome.pairs.most);
  }
  const bool divided = outcome.form == SparseOutcome::Form::values;
  if (divided) {
    run_on(c, [&](auto tag) {
      kernels::widen_values(tag, c.types.value, c.n, c.out.data, c.sum.data());
    });
  }
  return list_touched_sums(c, divided ? 1 : c.divisor());
}

SparseResult SparseEngine::run_sparse(ConstBufferRef gradient) {
  SparseContext& c = context_;
  agree_on_call("run_sparse", gradient, nullptr);
  // Some algorithms compute all elements.
  void* dense = c.dense_values.bytes(c.n * size_of(c.types.value), c.device());
  const SparseOutcome outcome = reduce(gradient, {dense, c.n, c.types.value, c.device()});
  refuse_at_once();
  const kernels::Count count = list_result(outcome);
  void* indices = c.indices.bytes(count.most * size_of(c.types.index()), c.device());
  void* values = c.values.bytes(count.most * size_of(c.types.value), c.device());
  index_t* counted = &c.control.data()->result;
  run_on(c, [&](auto tag) {
    kernels::separate(tag, c.types, c.sorted.data(), count, indices, values);
    kernels::set_count(tag, count, counted);
  });
  c.report.result = count.most;
  finish_call(sparse_prepared_);
  return {{indices, count.most, c.types.index(), c.device()},
          {values, count.most, c.types.value, c.device()},
          {counted, 1, c.device()}};
}

void SparseEngine::set_density(double density) {
  SparseOptions changed = context_.options;
  changed.density = density;
  agree_on_success(context_.comm, [&] { check_sparse_options(context_.n, changed); });
  context_.comm.agree_on(hash_of(context_.n, changed),
                         [&] { return describe_sparse(context_.n, changed); });
  context_.options = changed;
}

void SparseEngine::read_residual(BufferRef out) const {
  const DType work = context_.types.work();
  require(out.count == context_.n && out.dtype == work,
          "SparseAllreduce::read_residual: the memory has {} elements of type {}, but the residual "
          "{} of {}",
          out.count, out.dtype, context_.n, work);
  copy_bytes(out.data, out.where, context_.state.residual.data(), context_.device(),
             static_cast<std::size_t>(out.bytes()));
}

std::vector<std::byte> SparseEngine::save() {
  pull_state();
  return save_state(context_);
}

void SparseEngine::load(const std::vector<std::byte>& bytes) {
  SparseState loaded;
  agree_on_success(context_.comm, [&] { loaded = parse_state(context_, bytes); });
  // Otherwise the ranks would go on at different calls, or with different owners and thresholds.
  context_.comm.agree_on(hash_of_common(loaded), [&] {
    return fmt::format(
        "SparseAllreduce::load: a state after {} calls with the global threshold {}; states of one "
        "run have these and their regions in common",
        loaded.calls, loaded.global_threshold);
  });
  context_.state = std::move(loaded);
  push_state();
}

void SparseEngine::reset() {
  Buffer<std::byte> residual = std::move(context_.state.residual);
  context_.state = {};
  context_.state.residual = std::move(residual);
  run_on(context_, [&](auto tag) {
    kernels::clear(tag, context_.types.work(), context_.n, context_.state.residual.data());
  });
  context_.report = {};
  push_state();
}

void SparseEngine::to(Device device) {
  SparseOptions changed = context_.options;
  changed.device = device;
  agree_on_success(context_.comm, [&] { check_sparse_options(context_.n, changed); });
  context_.comm.agree_on(hash_of(context_.n, changed),
                         [&] { return describe_sparse(context_.n, changed); });
  agree_on_success(context_.comm, [&] { report(); });  // throws if a call was refused
  pull_state();
  SparseContext moved(context_.comm, context_.n, changed);
  moved.types = context_.types;
  moved.selector = context_.selector;
  moved.in_slots = context_.in_slots;
  agree_on_success(context_.comm, [&] { allocate(moved); });
  copy_bytes(moved.state.residual.data(), device, context_.state.residual.data(), context_.device(),
             static_cast<std::size_t>(context_.n * context_.work_bytes()));
  Buffer<std::byte> residual = std::move(moved.state.residual);
  moved.state = std::move(context_.state);
  moved.state.residual = std::move(residual);
  moved.report = context_.report;
  context_ = std::move(moved);
  run_prepared_ = sparse_prepared_ = 0;
  push_state();
}

}  // namespace weft::detail
