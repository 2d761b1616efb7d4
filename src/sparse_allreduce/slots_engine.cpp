// What SparseEngine does for calls in slots, whose numbers the host does not read.

#include <weft/core/error.hpp>
#include <weft/core/format.hpp>
#include <weft/core/stream.hpp>

#include "core/cuda_device.hpp"
#include "sparse_allreduce/exchange.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"
#include "sparse_allreduce/sparse_engine.hpp"

#include <algorithm>
#include <string>

namespace weft::detail {
namespace {

/// Whether the next call does something that it does only every so many calls.
bool is_due(const SparseContext& c) {
  if (c.options.algorithm == "auto" && auto_is_dense(c)) return false;
  const auto due = [&](index_t period) { return period > 1 && is_time(c, period); };
  const OktopkConstants& constants = c.options.oktopk;
  const bool has_period =
      c.selector->select == select_reused || c.selector->select == select_periodic;
  if (has_period && due(constants.local_period)) return true;
  const bool has_regions = c.options.algorithm == "oktopk" || c.options.algorithm == "auto";
  if (!has_regions) return false;
  return due(constants.global_period) || due(constants.region_period);
}

/// Whether the host has to wait in the next call.
bool needs_host(const SparseContext& c) {
  return !c.in_slots || c.selector->select_in_slots == nullptr ||
         c.state.calls < c.options.dense_calls || c.options.time_phases;
}

std::string deferred_text(const kernels::Refusal& refusal) {
  return fmt::format("call {} of {}", refusal.call, refusal_text(refusal.rank, refusal.first));
}

}  // namespace

bool is_captured([[maybe_unused]] Device device) {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return cuda_is_capturing(Stream::current(device).handle());
#endif
  return false;
}

void SparseEngine::refuse_capture(const char* call, index_t prepared_k) const {
  const SparseContext& c = context_;
  const std::string& name = c.options.algorithm;
  if (name == "dense") return;
  require(!needs_host(c),
          "SparseAllreduce::{}: the host waits in this call of '{}', so it cannot be captured in a "
          "graph; calls in slots can, if their selector and options allow it",
          call, name);
  require(prepared_k == selected_elements(c.n, c.options.density),
          "SparseAllreduce::{}: before a call of '{}' is captured in a graph, {} must have been "
          "called with this density, which allocates its memory",
          call, name, call);
  require(!is_due(c),
          "SparseAllreduce::{}: call {} of '{}' looks for new thresholds or regions, which a graph "
          "would do in every launch; a call before or after it can be captured",
          call, c.state.calls, name);
}

/// If graphs may have made calls, only the device knows how many.
void SparseEngine::prepare_call() {
  SparseContext& c = context_;
  if (!has_graph_ || is_captured(c.device())) return;
  const index_t calls = read_call().calls;
  ++c.report.host_waits;
  c.replayed += calls - c.state.calls;
  c.state.calls = calls;
}

/// Throws on a CPU, where reading costs nothing, before the result is written.
void SparseEngine::refuse_at_once() {
  SparseContext& c = context_;
  if (!c.in_slots || !c.device().host_accessible()) return;
  const kernels::CallControl call = read_call();
  if (call.refusal.call < 0) return;
  ++c.state.calls;
  has_news_ = true;
  forget_refusals();
  throw AgreedError(refusal_text(call.refusal.rank, call.refusal.first));
}

void SparseEngine::finish_call(index_t& prepared_k) {
  SparseContext& c = context_;
  if (!c.in_slots) {
    ++c.state.calls;
    return;
  }
  has_news_ = true;
  if (is_captured(c.device())) {
    has_graph_ = true;
    return;
  }
  prepared_k = c.k;
  const index_t before = c.state.calls - c.replayed;
  c.replayed = 0;
  ++c.state.calls;
  const index_t period = c.options.check_every;
  if (period == 0 || c.device().host_accessible()) return;
  if (c.state.calls / period == before / period) return;
  ++c.report.host_waits;
  const kernels::Refusal refusal = pull_report().refusal;
  if (refusal.call < 0) return;
  forget_refusals();
  throw AgreedError(deferred_text(refusal));
}

kernels::CallControl SparseEngine::read_call() const {
  kernels::CallControl call;
  copy_bytes(&call, Device::cpu(), &context_.control.data()->call, context_.device(), sizeof(call));
  return call;
}

void SparseEngine::forget_refusals() {
  kernels::CallControl* call = &context_.control.data()->call;
  write_to(context_, &call->refusal, kernels::Refusal());
  write_to(context_, &call->unreported, kernels::Refusal());
}

/// Completes the report with what is on the device.
kernels::CallControl SparseEngine::pull_report() {
  const kernels::CallControl call = read_call();
  has_news_ = false;
  complete_report_ = context_.report;
  SparseReport& r = complete_report_;
  r.call = call.calls - 1;
  r.selected = call.selected;
  r.overflow = call.overflow;
  r.dropped = call.dropped;
  if (result_on_device_) r.result = call.shown;
  r.split_words = 2 * call.split_pairs;
  r.gather_words += 2 * (call.total - call.gather_pairs);
  r.padding_words -= r.split_words + 2 * (call.total - call.gather_pairs);
  r.local_threshold = std::max(0.0, call.local_threshold);
  r.global_threshold = std::max(0.0, call.global_threshold);
  return call;
}

const SparseReport& SparseEngine::report() {
  if (!context_.in_slots) return context_.report;
  if (has_news_ || has_graph_) {
    const kernels::Refusal refusal = pull_report().unreported;
    if (refusal.call >= 0) {
      write_to(context_, &context_.control.data()->call.unreported, kernels::Refusal());
      throw Error(deferred_text(refusal));  // not an AgreedError: other ranks may not ask
    }
  }
  return complete_report_;
}

void SparseEngine::pull_state() {
  SparseContext& c = context_;
  if (!c.in_slots) return;
  const kernels::CallControl call = read_call();
  c.replayed += call.calls - c.state.calls;
  c.state.calls = call.calls;
  c.state.local_threshold = call.local_threshold;
  c.state.global_threshold = call.global_threshold;
  copy_bytes(c.state.boundaries.data(), Device::cpu(), c.boundaries.data(), c.device(),
             c.state.boundaries.size() * sizeof(index_t));
}

void SparseEngine::push_state() {
  SparseContext& c = context_;
  if (!c.in_slots) return;
  kernels::CallControl call;
  call.calls = c.state.calls;
  call.local_threshold = c.state.local_threshold;
  call.global_threshold = c.state.global_threshold;
  write_to(c, &c.control.data()->call, call);
  write_boundaries(c);
  c.replayed = 0;
  has_news_ = false;
  complete_report_ = c.report;
}

}  // namespace weft::detail
