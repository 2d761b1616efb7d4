#include <weft/core/error.hpp>
#include <weft/core/format.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>

#include "core/cuda_device.hpp"
#include "core/graph_hook.hpp"
#include "core/host_waits.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::atomic<index_t> waits = 0;

}  // namespace

void detail::count_host_wait() { waits.fetch_add(1, std::memory_order_relaxed); }

index_t Stream::host_waits() { return waits; }

Stream Stream::current(Device device) {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) {
    // The thread owns it.
    return {device, std::shared_ptr<void>(std::shared_ptr<void>(), detail::cuda_stream(device))};
  }
#endif
  require_available(device);
  return {device, nullptr};
}

Stream Stream::make(Device device) {
  require_available(device);
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return {device, detail::cuda_make_stream(device)};
#endif
  return {device, nullptr};
}

void Stream::synchronize() const {
#if defined(WEFT_WITH_CUDA)
  if (device_.kind == DeviceKind::cuda) detail::cuda_synchronize(handle());
#endif
}

void Stream::wait([[maybe_unused]] const Event& event) const {
#if defined(WEFT_WITH_CUDA)
  if (handle() != nullptr && event.handle() != nullptr) detail::cuda_wait(handle(), event.handle());
#endif
}

StreamScope::StreamScope(Device device, [[maybe_unused]] void* stream) : device_(device) {
  require(device.kind == DeviceKind::cuda, "StreamScope: {} has no streams", device);
  require_available(device);
#if defined(WEFT_WITH_CUDA)
  require(stream != nullptr, "StreamScope: the default stream cannot be used");
  const Device on = detail::cuda_device_of(stream);
  require(on == device, "StreamScope: the stream is on {}, not on {}", on, device);
  joins_ = !detail::cuda_is_capturing(stream);
  if (joins_) {
    order_.record(Stream::current(device));
    detail::cuda_wait(stream, order_.handle());
  }
  before_ =
      detail::cuda_exchange_stream(device, std::shared_ptr<void>(std::shared_ptr<void>(), stream));
#endif
}

StreamScope::~StreamScope() {
#if defined(WEFT_WITH_CUDA)
  try {
    const Stream within = Stream::current(device_);
    detail::cuda_exchange_stream(device_, std::move(before_));
    if (!joins_) return;
    order_.record(within);
    Stream::current(device_).wait(order_);
  } catch (const std::exception&) {
    // The GPU has failed; the next call reports it.
  }
#endif
}

void Event::record([[maybe_unused]] const Stream& stream) {
#if defined(WEFT_WITH_CUDA)
  if (stream.handle() == nullptr) return;
  if (handle_ == nullptr || device_ != stream.device()) {
    handle_.reset(detail::cuda_make_event(stream.device()));
    device_ = stream.device();
  }
  detail::cuda_record(handle_.get(), stream.handle());
#endif
}

bool Event::passed() const {
#if defined(WEFT_WITH_CUDA)
  if (handle_ != nullptr) return detail::cuda_passed(handle_.get());
#endif
  return handle_ == nullptr;  // made on a GPU only
}

void Event::Deleter::operator()([[maybe_unused]] void* handle) const noexcept {
#if defined(WEFT_WITH_CUDA)
  detail::cuda_destroy_event(handle);
#endif
}

namespace detail {
namespace {

/// Of the graph that this thread is capturing; null if there is none.
thread_local std::vector<std::shared_ptr<GraphHook>>* captured_hooks = nullptr;

struct HookScope {
  explicit HookScope(std::vector<std::shared_ptr<GraphHook>>& hooks) { captured_hooks = &hooks; }
  ~HookScope() { captured_hooks = nullptr; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
};

}  // namespace

bool add_graph_hook(const std::shared_ptr<GraphHook>& hook) {
  if (captured_hooks == nullptr) return false;
  const bool known =
      std::find(captured_hooks->begin(), captured_hooks->end(), hook) != captured_hooks->end();
  if (!known) captured_hooks->push_back(hook);
  return true;
}

}  // namespace detail

Graph Graph::capture(Device device, std::function<void()> work) {
  require_available(device);
  Graph graph;
  graph.device_ = device;
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) {
    {
      const detail::HookScope scope(graph.hooks_);
      graph.recorded_ = detail::cuda_capture(device, work);
    }
    for (const auto& hook : graph.hooks_) hook->after_capture();
  }
#endif
  graph.work_ = std::move(work);
  return graph;
}

void Graph::launch() const {
#if defined(WEFT_WITH_CUDA)
  if (recorded_ != nullptr) {
    for (const auto& hook : hooks_) hook->before_launch();
    detail::cuda_launch(device_, recorded_.get());
    for (const auto& hook : hooks_) hook->after_launch();
    return;
  }
#endif
  if (work_) work_();
}

}  // namespace weft
